"""Disks that fail on purpose: one that stops at a step, one that is full or read-only, one that loses its power."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.checkpoint.commitlog.disk import Disk


class Crash(BaseException):
    """The process died here: nothing after it may run, so no handler for errors may catch it."""


class LoggingDisk(Disk):
    """Performs and remembers every step; `before` may raise in place of one, and sees its number."""

    def __init__(self, before: Callable[[int, str, Path], None] = lambda *_: None) -> None:
        self.steps: list[tuple[str, Path]] = []
        self._before = before

    def write(self, path: Path, data: bytes) -> None:
        self._note("write", path)
        super().write(path, data)

    def sync(self, path: Path) -> None:
        self._note("sync", path)

    def publish(self, source: Path, target: Path) -> None:
        self._note("publish", target)
        super().publish(source, target)

    def sync_directory(self, path: Path) -> None:
        self._note("sync_directory", path)

    def make_directory(self, path: Path) -> None:
        self._note("make_directory", path)
        super().make_directory(path)

    def remove(self, path: Path) -> None:
        self._note("remove", path)
        super().remove(path)

    def _note(self, step: str, path: Path) -> None:
        self._before(len(self.steps), step, path)
        self.steps.append((step, path))


def dying_at(number: int) -> LoggingDisk:
    """A disk under a process that dies before the step of this number."""

    def die(reached: int, *_: object) -> None:
        if reached >= number:
            raise Crash

    return LoggingDisk(die)


def failing_at(number: int, error: int) -> LoggingDisk:
    """A disk that answers with an error of the operating system from the step of this number on."""

    def fail(reached: int, *_: object) -> None:
        if reached >= number:
            raise OSError(error, os.strerror(error))

    return LoggingDisk(fail)


class TearingDisk(Disk):
    """Writes only the first bytes of each file, then dies."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._dead = False

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data[: self._length])
        self._dead = True
        raise Crash

    def remove(self, path: Path) -> None:
        if self._dead:
            raise Crash
        super().remove(path)


@dataclass
class Inode:
    """A file as the disk's cache and as its platter have it."""

    data: bytes
    synced: bytes = b""


@dataclass
class PowerLossDisk(Disk):
    """Remembers what is durable: bytes after `sync`, names after `sync_directory`. Dies at a step when told to."""

    root: Path
    dies_at: int | None = None
    step: int = 0
    names: dict[Path, Inode | None] = field(default_factory=dict)
    """All names as a running process sees them; None for a directory."""
    durable: dict[Path, Inode | None] = field(default_factory=dict)

    def write(self, path: Path, data: bytes) -> None:
        self._die_or_go_on()
        super().write(path, data)
        self.names[path] = Inode(data)

    def sync(self, path: Path) -> None:
        self._die_or_go_on()
        inode = self.names[path]
        assert inode is not None
        inode.synced = inode.data

    def publish(self, source: Path, target: Path) -> None:
        self._die_or_go_on()
        super().publish(source, target)
        self.names[target] = self.names[source]

    def sync_directory(self, path: Path) -> None:
        self._die_or_go_on()
        kept = {name: inode for name, inode in self.durable.items() if name.parent != path}
        self.durable = kept | {name: inode for name, inode in self.names.items() if name.parent == path}

    def make_directory(self, path: Path) -> None:
        self._die_or_go_on()
        super().make_directory(path)
        self.names[path] = None

    def remove(self, path: Path) -> None:
        self._die_or_go_on()
        super().remove(path)
        self.names.pop(path, None)

    def lose_power(self, into: Path, *, names_survive: bool) -> None:
        """Lay out what is found then: unsynced bytes are gone, unsynced names are gone or happen to be there."""
        found = self.names if names_survive else self.durable
        into.mkdir()
        for name, inode in sorted(found.items()):
            target = into / name.relative_to(self.root)
            if not target.parent.exists():
                continue
            if inode is None:
                target.mkdir()
            else:
                target.write_bytes(inode.synced)

    def _die_or_go_on(self) -> None:
        if self.dies_at is not None and self.step >= self.dies_at:
            raise Crash
        self.step += 1
