"""Keeps checkpoints in a directory of a local disk, as a log of commit documents.

    holdfast.json   says that this is a store, and of which format
    commits/        one document per commit; see `commitlog.document`
    blobs/          large payloads
    pruned/         one empty file named by the highest commit number that may have been removed
    tmp/            files being written; whatever lies there has no meaning

A file is written in `tmp`, synced, linked to its name (which fails when the name is taken), and the directory is
synced before the commit returns. A single-file store of format 0 found in the directory becomes the first commit; a
store that has a commit never looks at that file again. The disk must have hard links, and be local to the writers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.checkpoint.commitlog import planning
from holdfast.checkpoint.commitlog.disk import Disk
from holdfast.checkpoint.commitlog.document import MARKER, commit_name, commit_number
from holdfast.checkpoint.commitlog.legacy import LEGACY_NAME, read_legacy
from holdfast.checkpoint.commitlog.model import Draft, Stamp, View
from holdfast.checkpoint.commitlog.oserrors import store_error, vanished
from holdfast.checkpoint.commitlog.store import LogStore, random_nonce
from holdfast.checkpoint.contract import Durability, Put
from holdfast.checkpoint.envelope import seal
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CommitStateUnknown, ForeignFile

FOLDERS = ("commits", "blobs", "pruned", "tmp")
LEFTOVER_AFTER = 3600.0
"""Seconds after which a file in `tmp` belongs to a process that died."""


class FileStore(LogStore):
    """A store in a directory. Survives loss of power."""

    def __init__(
        self,
        directory: Path | str,
        *,
        clock: Clock = utc_now,
        nonces: Callable[[], str] = random_nonce,
        disk: Disk | None = None,
    ) -> None:
        medium = FileMedium(Path(directory).absolute(), disk or Disk())
        super().__init__(medium, clock=clock, nonces=nonces)
        medium.clean(before=clock().timestamp() - LEFTOVER_AFTER)
        self._migrate(medium)

    def _migrate(self, medium: FileMedium) -> None:
        old = medium.read(LEGACY_NAME) if self._reader.look().newest == 0 else None
        if old is None:
            return
        puts = [Put(key, value) for key, value in read_legacy(old, where=medium.where(LEGACY_NAME)).items()]
        contents = {put.key: seal(put.payload) for put in puts}

        def decide(view: View, stamp: Stamp) -> Draft | None:
            return None if view.newest else planning.plan_migration(view, puts, contents, stamp)

        self._publish_if(decide)


class FileMedium:
    """A directory in which a name is taken only once."""

    durability = Durability.POWER_LOSS

    def __init__(self, directory: Path, disk: Disk) -> None:
        if directory.exists() and not directory.is_dir():
            raise ForeignFile(
                f"{directory} is a file, not the directory of a checkpoint store.",
                remedy="Give the store a directory of its own.",
                where=str(directory),
            )
        self._directory = directory
        self._disk = disk

    def where(self, name: str = "") -> str:
        """The path."""
        return str(self._directory / name)

    def read(self, name: str) -> bytes | None:
        """The bytes of a file, or None when there is none."""
        with self._translating(name):
            try:
                return (self._directory / name).read_bytes()
            except FileNotFoundError:
                return None

    def create(self, name: str, data: bytes) -> bool:
        """Write, sync, link and sync the directory."""
        target, temporary = self._directory / name, self._directory / "tmp" / secrets.token_hex(8)
        try:
            with self._translating(name):
                self._disk.write(temporary, data)
                self._disk.sync(temporary)
                if not self._link(temporary, target):
                    return False
            self._make_name_durable(target)
            return True
        finally:
            self._remove(temporary)

    def newest(self, known: int) -> int:
        """Counts upwards from what is known. A gap means that numbers were removed, and then `pruned` tells of them."""
        newest = known or max(self.numbers(), default=0)
        with self._translating("pruned"):
            while True:
                newest = self._count_up(newest)
                pruned = max(self._pruned(), default=0)
                if pruned <= newest:
                    break
                newest = pruned
            if newest and not self._exists(commit_name(newest)):
                raise vanished(self.where(commit_name(newest)))
            return newest

    def numbers(self) -> list[int]:
        """The commit numbers present, sorted."""
        return sorted(number for name in self._names("commits") if (number := commit_number(name)) is not None)

    def blobs(self) -> list[str]:
        """The names of all blobs present."""
        return [f"blobs/{name}" for name in self._names("blobs")]

    def remove(self, names: Sequence[str]) -> None:
        """Note the highest number durably, then remove."""
        numbers = [number for name in names if (number := commit_number(Path(name).name)) is not None]
        if numbers:
            self._note_pruned(max(numbers))
        with self._translating(""):
            for name in names:
                with suppress(FileNotFoundError):
                    self._disk.remove(self._directory / name)

    def strangers(self) -> list[str]:
        """What is neither ours nor a store of format 0."""
        if not self._directory.exists():
            return []
        return sorted(set(self._names("")) - {MARKER, LEGACY_NAME, *FOLDERS})

    def found(self) -> None:
        """Create the directory and its folders, and make durable what a writer published just before it died."""
        with self._translating(""):
            for path in [*reversed(self._directory.parents), self._directory, *map(self._directory.joinpath, FOLDERS)]:
                if not path.exists():
                    with suppress(FileExistsError):
                        self._disk.make_directory(path)
                    self._disk.sync_directory(path.parent)
            self._disk.sync_directory(self._directory / "commits")

    def clean(self, *, before: float) -> None:
        """Remove files that were left in `tmp` before a time; harmless if it fails."""
        for name in self._names("tmp"):
            path = self._directory / "tmp" / name
            with suppress(OSError):
                if path.stat().st_mtime < before:
                    self._disk.remove(path)

    def _count_up(self, number: int) -> int:
        while self._exists(commit_name(number + 1)):
            number += 1
        return number

    def _link(self, temporary: Path, target: Path) -> bool:
        """Publish, and say whether the name is now ours; a file server may have linked and lost the answer."""
        try:
            self._disk.publish(temporary, target)
        except FileExistsError:
            return target.samefile(temporary)
        return True

    def _make_name_durable(self, target: Path) -> None:
        try:
            self._disk.sync_directory(target.parent)
        except OSError as error:
            raise CommitStateUnknown(
                f"{target} was published, but the directory could not be synced ({error.strerror}).",
                kept="The file is there, and may be gone after a loss of power.",
                remedy="See to the disk, open the store again and read the keys back.",
                where=str(target),
            ) from error

    def _note_pruned(self, number: int) -> None:
        earlier = self._pruned()
        if number > max(earlier, default=0):
            self.create(f"pruned/{number:020d}", b"")
            for old in earlier:
                self._remove(self._directory / "pruned" / f"{old:020d}")

    def _pruned(self) -> list[int]:
        return [int(name) for name in self._names("pruned") if name.isdecimal()]

    def _names(self, folder: str) -> list[str]:
        with self._translating(folder):
            return [path.name for path in (self._directory / folder).iterdir()]

    def _exists(self, name: str) -> bool:
        return (self._directory / name).exists()

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            self._disk.remove(path)

    @contextmanager
    def _translating(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise store_error(error.errno, self.where(name), error.strerror or str(error)) from error
