"""Spark's own checkpoint directory, read and synced. Spark writes it and never syncs it; nothing here writes into it.

A batch is *planned* once `offsets/n` is there and *finished* once `commits/n` is. Spark plans batch n, runs it,
finishes it, and after a restart runs again the one batch that was planned and not finished.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.disk.files import sync_directory, sync_file
from holdfast.model.errors import PipelineDiverged
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the input of a batch starts and ends: {inbox uuid: seq}."""

    batch_id: int
    starts: Mapping[str, int]
    ends: Mapping[str, int]


class SparkCheckpoint:
    """One generation's checkpoint directory."""

    def __init__(self, directory: Path, *, initial: Mapping[str, int] | None = None, hook: StepHook = no_hook) -> None:
        self.directory = directory
        self.initial = dict(initial or {})
        """Where batch 0 starts, for a generation that does not begin at the first event."""
        self._hook = hook
        self._synced_state: set[Path] = set()

    def exists(self) -> bool:
        """Whether Spark was ever started here."""
        return (self.directory / "metadata").exists()

    def query_id(self) -> str | None:
        """The id that Spark gave the query when it first started here."""
        try:
            return str(json.loads((self.directory / "metadata").read_text())["id"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise _unreadable(self.directory / "metadata", error) from error

    def newest_planned(self) -> int | None:
        """The highest batch that was planned."""
        return max(_numbers(self.directory / "offsets"), default=None)

    def newest_finished(self) -> int | None:
        """The highest batch that was finished."""
        return max(_numbers(self.directory / "commits"), default=None)

    def planned(self) -> frozenset[int]:
        """Every planned batch that Spark still has on record."""
        return frozenset(_numbers(self.directory / "offsets"))

    def finished(self) -> frozenset[int]:
        """Every finished batch that Spark still has on record."""
        return frozenset(_numbers(self.directory / "commits"))

    def planned_ends(self) -> dict[int, dict[str, int]]:
        """The ends of every planned batch that Spark still has."""
        return {number: self._ends(number) for number in sorted(_numbers(self.directory / "offsets"))}

    def plan(self, batch_id: int) -> Plan:
        """Where a planned batch starts and ends."""
        starts = self.initial if batch_id == 0 else self._ends(batch_id - 1)
        return Plan(batch_id, starts, self._ends(batch_id))

    def sync_plan(self, batch_id: int) -> None:
        """Make `offsets/n` survive a loss of power: called before batch n is published."""
        self._hook(Step.SPARK_OFFSETS_FSYNC)
        _sync_file(self.directory / "metadata")
        _sync_file(self.directory / "offsets" / str(batch_id))
        for folder in (self.directory / "offsets", self.directory):
            _sync_directory(folder)

    def sync_finished(self, batch_id: int) -> None:
        """Make the state and `commits/n` survive: called before an upstream or the inbox forgets the input of n."""
        self._hook(Step.SPARK_COMMIT_FSYNC)
        self._sync_state()
        _sync_file(self.directory / "commits" / str(batch_id))
        for folder in (self.directory / "commits", self.directory):
            _sync_directory(folder)
        self._hook(Step.SPARK_COMMIT_SYNCED)

    def _sync_state(self) -> None:
        """State files are written once under names of their own, so each is synced once."""
        present = {path for path in (self.directory / "state").rglob("*") if path.is_file()}
        fresh = present - self._synced_state
        for path in fresh:
            _sync_file(path)
        for folder in _folders_up_to(self.directory, fresh):
            _sync_directory(folder)
        self._synced_state = present

    def _ends(self, batch_id: int) -> dict[str, int]:
        path = self.directory / "offsets" / str(batch_id)
        try:
            offset = json.loads(path.read_text().splitlines()[2])
            return {str(uuid): int(seq) for uuid, seq in offset.items()}
        except (OSError, ValueError, IndexError, AttributeError, TypeError, OverflowError, RecursionError) as error:
            raise _unreadable(path, error) from error


def _numbers(folder: Path) -> Iterator[int]:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return (int(name) for name in names if name.isdigit())


def _folders_up_to(root: Path, files: set[Path]) -> list[Path]:
    """The folders of the files and those above them up to `root`, deepest first."""
    folders = {folder for path in files for folder in path.parents if folder.is_relative_to(root)}
    return sorted(folders, key=lambda folder: len(folder.parts), reverse=True)


def _sync_file(path: Path) -> None:
    """Sync a file; one that Spark has purged meanwhile needs none."""
    with suppress(FileNotFoundError):
        sync_file(path)


def _sync_directory(path: Path) -> None:
    with suppress(FileNotFoundError):
        sync_directory(path)


def _unreadable(path: Path, error: Exception) -> PipelineDiverged:
    return PipelineDiverged(
        f"Spark's checkpoint file {path} cannot be read ({type(error).__name__}: {error}).",
        kept="Inbox, outbox and sinks are untouched.",
        remedy="Restore the file from a copy, or continue in a new generation.",
        file=str(path),
    )
