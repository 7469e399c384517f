"""What the doctor found, as values and as a text that a person can read."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from holdfast.checkpoint.doctor.repairs import Repair

_WIDTH = 110


class FindingKind(Enum):
    """What can be wrong with a store."""

    DAMAGED_NEWEST = "damaged newest version"
    DAMAGED_OLDER = "damaged older version"
    UNLISTABLE = "versions that cannot be listed"
    DAMAGED_COMMIT = "unreadable commit document"
    DOUBT = "keys in doubt"
    LEFTOVER = "leftover temporary file"
    FOREIGN = "foreign file"
    ORPHAN = "orphan blob"
    HOLE = "hole in the versions"
    CLOCK_BACK = "clock went back"
    WRITTEN_APART = "keys written apart"
    CURSORS_UNREADABLE = "cursors that cannot be decoded"
    CURSORS_IMPOSSIBLE = "cursors that contradict themselves"
    TIERS_APART = "local and remote tier apart"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    kind: FindingKind
    place: str
    meaning: str
    """What it means, a whole sentence."""
    next_start: str
    """What would happen at the next start, a whole sentence."""
    repair: Repair | None = None
    cannot: str | None = None
    """Why there is no repair, a whole sentence; None when there is one."""

    def __post_init__(self) -> None:
        assert (self.repair is None) is not (self.cannot is None), "a finding has a repair or a reason"


@dataclass(frozen=True, slots=True)
class KeySummary:
    """One key at a glance."""

    key: str
    versions: int
    newest: int
    size: int
    """Bytes of the newest payload."""
    total: int
    """Bytes of all payloads kept."""
    written_at: datetime | None
    is_whole: bool
    """Whether the newest version can be read."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is there, and what is wrong with it."""

    store: str
    format: int
    epoch: int
    keys: tuple[KeySummary, ...]
    findings: tuple[Finding, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def __str__(self) -> str:
        return "\n".join([*self._head(), "", *self._tail()])

    def _head(self) -> Iterator[str]:
        yield f"{self.store}: format {self.format}, epoch {self.epoch}, {_count(len(self.keys), 'key')}"
        if not self.keys:
            return
        yield from _table(
            ("key", "versions", "newest", "size", "all", "written", "state"),
            [
                (
                    summary.key,
                    str(summary.versions),
                    str(summary.newest),
                    _bytes(summary.size),
                    _bytes(summary.total),
                    summary.written_at.strftime("%Y-%m-%d %H:%M:%S") if summary.written_at else "-",
                    "whole" if summary.is_whole else "DAMAGED",
                )
                for summary in self.keys
            ],
        )

    def _tail(self) -> Iterator[str]:
        if not self.findings:
            yield "Nothing is wrong."
            return
        yield f"{_count(len(self.findings), 'finding')}:"
        for number, finding in enumerate(self.findings, 1):
            yield f"{number:>3}. {finding.kind.value}: {finding.place}"
            yield _paragraph("it means", finding.meaning)
            yield _paragraph("next start", finding.next_start)
            yield _paragraph("repair", str(finding.repair) if finding.repair else f"None: {finding.cannot}")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *rows]:
        first = row[0].ljust(widths[0])
        middle = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        yield "  " + "  ".join([first, *middle, row[-1]])


def _paragraph(label: str, text: str) -> str:
    indent = " " * 5
    return textwrap.fill(f"{label:<11}{text}", _WIDTH, initial_indent=indent, subsequent_indent=indent + " " * 11)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _bytes(size: int) -> str:
    for unit, factor in (("MB", 1_000_000), ("kB", 1_000)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
