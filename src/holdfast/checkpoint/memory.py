"""Keeps checkpoints in this process: for tests, and for pipelines that may start from nothing.

Several stores may stand over one `Shelf`, as several processes stand over one database; the shelf's lock makes each
operation atomic. Nothing survives the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import CheckpointStore, Delete, Durability, Put, RollBack
from holdfast.checkpoint.envelope import seal
from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.keys import check_commit, check_key, check_prune
from holdfast.checkpoint.rules import (
    check_epoch,
    check_requirements,
    closed,
    next_epoch,
    prunable,
    unknown_key,
    unknown_version,
)
from holdfast.model.clock import utc_now

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.checkpoint.contract import Commit, Stored, Update, Version
    from holdfast.model.clock import Clock


@dataclass(slots=True)
class Shelf:
    """What the stores over it share."""

    lock: RLock = field(default_factory=RLock)
    epoch: int = 0
    kept: dict[str, dict[int, Kept]] = field(default_factory=dict)
    """The versions by number, oldest first, of each key that is present."""
    counted: dict[str, int] = field(default_factory=dict)
    """The highest version each key ever had, deleted keys included."""

    def newest(self) -> dict[str, int]:
        """The newest version of each key that is present."""
        return {key: max(versions) for key, versions in self.kept.items()}


class MemoryStore(CheckpointStore):
    """A store that is gone with its process."""

    durability = Durability.PROCESS
    _name = "The memory store"

    def __init__(self, shelf: Shelf | None = None, *, clock: Clock = utc_now) -> None:
        self._shelf = Shelf() if shelf is None else shelf
        self._clock = clock
        self._closed = False

    def epoch(self) -> int:
        """The newest epoch the store has seen; 0 for a new store."""
        with self._open_shelf().lock:
            return self._shelf.epoch

    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner under a new epoch."""
        with self._open_shelf().lock:
            self._shelf.epoch = next_epoch(self._shelf.epoch, at_least)
            return self._shelf.epoch

    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""
        with self._open_shelf().lock:
            return sorted(key for key in self._shelf.kept if key.startswith(prefix))

    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent."""
        with self._open_shelf().lock:
            versions = self._shelf.kept.get(check_key(key))
            return versions[max(versions)].read() if versions else None

    def versions(self, key: str) -> list[Version]:
        """The versions kept of `key`, oldest first."""
        with self._open_shelf().lock:
            return [kept.version for kept in self._shelf.kept.get(check_key(key), {}).values()]

    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key`."""
        with self._open_shelf().lock:
            return self._find(check_key(key), version).read()

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit, all or none."""
        check_commit(commit)
        with self._open_shelf().lock:
            check_epoch(commit.epoch, self._shelf.epoch)
            check_requirements(commit.requirements, self._shelf.newest())
            now = self._clock()
            made = {update.key: self._make(update, now, commit.epoch) for update in commit.updates}
            for key, kept in made.items():
                self._place(key, kept)
            return {key: kept.version.number if kept else 0 for key, kept in made.items()}

    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget all but the newest `keep` versions of `key`."""
        check_prune(key, keep)
        with self._open_shelf().lock:
            check_epoch(epoch, self._shelf.epoch)
            versions = self._shelf.kept.get(key, {})
            gone = prunable(list(versions), keep, lambda number: versions[number].is_readable())
            for number in gone:
                del versions[number]
            return len(gone)

    def close(self) -> None:
        """Refuse further use; other stores over the shelf go on."""
        self._closed = True

    def _open_shelf(self) -> Shelf:
        if self._closed:
            raise closed(self._name)
        return self._shelf

    def _find(self, key: str, number: int) -> Kept:
        versions = self._shelf.kept.get(key)
        if not versions:
            raise unknown_key(key)
        if number not in versions:
            raise unknown_version(key, number)
        return versions[number]

    def _make(self, update: Update, now: datetime, epoch: int) -> Kept | None:
        """The version an update will write, without writing it; None for a delete."""
        match update:
            case Put(key, payload):
                return Kept.put(key, self._next(key), seal(payload), now=now, epoch=epoch)
            case RollBack(key, number, origin):
                return self._find(key, number).again(self._next(key), origin, now=now, epoch=epoch)
            case Delete():
                return None

    def _place(self, key: str, kept: Kept | None) -> None:
        if kept is None:
            self._shelf.kept.pop(key, None)
            return
        self._shelf.kept.setdefault(key, {})[kept.version.number] = kept
        self._shelf.counted[key] = kept.version.number

    def _next(self, key: str) -> int:
        return self._shelf.counted.get(key, 0) + 1
