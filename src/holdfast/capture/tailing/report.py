"""What a source of files tells about itself: what could not be had, what was cut, what cannot be read now."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

log = logging.getLogger("holdfast.capture.files")


@dataclass(frozen=True, slots=True)
class FilesStatus:
    """Where a source of files stands. The counts are those of this process."""

    files: int
    """How many files are followed."""
    behind: int
    """How many bytes are known to be there and not captured yet."""
    gaps: int
    """How many files went before all of them that was seen was captured."""
    gap_bytes: int
    """How much that was, as far as one knows."""
    vanished: int
    """How many files were gone when this process began: whether all of them was captured is not known."""
    cut_records: int
    """How many records were longer than is kept of one."""
    cut_bytes: int
    problems: dict[str, str]
    """Files that cannot be read now, and why."""


@dataclass(slots=True)
class Report:
    """Counts and tells. One line a decision, none a record."""

    source: str
    gaps: int = 0
    gap_bytes: int = 0
    vanished: int = 0
    cut_records: int = 0
    cut_bytes: int = 0
    problems: dict[str, str] = field(default_factory=dict)

    def gap(self, path: str, number: int | None, offset: int, count: int) -> None:
        """A file is gone, and something of it was never captured."""
        self.gaps += 1
        self.gap_bytes += count
        log.error(
            "gap source=%s file=%s number=%s from=%d bytes=%d: the file was removed or truncated before it was read",
            self.source, path, number, offset, count,
        )  # fmt: skip

    def vanish(self, read_to: Mapping[int, int]) -> None:
        """Files that were being read when the last process ended are nowhere to be found.

        :param read_to: up to where each was captured, by number.
        """
        self.vanished += len(read_to)
        log.warning(
            "vanished source=%s files=%d read_to=%s: they are gone, and what was written behind that is not known",
            self.source, len(read_to), ",".join(f"{number}:{offset}" for number, offset in read_to.items()),
        )  # fmt: skip

    def problem(self, path: str, why: str) -> None:
        """A file cannot be read; said once."""
        if self.problems.get(path) != why:
            log.warning("unreadable source=%s file=%s: %s", self.source, path, why)
        self.problems[path] = why

    def has_problem(self, path: str) -> bool:
        """Whether a file cannot be read."""
        return path in self.problems

    def mended(self, path: str) -> None:
        """A file can be read again."""
        self.problems.pop(path, None)

    def forget_problems(self, paths: Collection[str]) -> None:
        """Only these files are there any more."""
        self.problems = {path: why for path, why in self.problems.items() if path in paths}

    def decided(self, what: str, path: str, number: int | None) -> None:
        """A file was recognised."""
        log.info("%s source=%s file=%s number=%s", what, self.source, path, number)

    def status(self, *, files: int, behind: int) -> FilesStatus:
        """What there is to say now."""
        return FilesStatus(
            files=files,
            behind=behind,
            gaps=self.gaps,
            gap_bytes=self.gap_bytes,
            vanished=self.vanished,
            cut_records=self.cut_records,
            cut_bytes=self.cut_bytes,
            problems=dict(self.problems),
        )
