"""A folder in which a file appears whole, under a name that is given once and never replaced.

A file is written under a hidden name, synced, and given its real name by a link, which fails when the name is taken.
Hidden files that a crash left behind are removed when the folder is opened again.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.disk.files import sync_directory, sync_file
from holdfast.model.errors import Fatal
from holdfast.sinks.filesystem.oserrors import delivery_error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLOCK = 1 << 20


class Folder:
    """The files of one lane and one outbox in a directory that others may use too. Safe for several threads.

    :param prefix: what the names of these files start with.
    :param epoch: of the owner; two owners never write under one hidden name.
    """

    def __init__(self, directory: Path, *, prefix: str, epoch: int) -> None:
        self._directory = directory
        self._prefix = prefix
        self._epoch = epoch

    def prepare(self) -> None:
        """Make the directory, and remove what owners before us left half written."""
        with self._translated():
            if not self._directory.is_dir():
                self._directory.mkdir()
                sync_directory(self._directory.parent)
            for path in self._left_behind():
                path.unlink(missing_ok=True)

    @contextmanager
    def drafts(self, oseq: int, ending: str) -> Iterator[Drafts]:
        """The parts of a batch under hidden names; whatever happens, none of them stays."""
        drafts = Drafts(self._directory, f"{self._prefix}-{oseq:020d}", ending, self._epoch)
        with self._translated():
            try:
                yield drafts
            finally:
                drafts.remove()

    def remove_behind(self, oseq: int) -> None:
        """Remove the files of later batches, the latest first: what a crash leaves is what an earlier batch left."""
        ours = re.compile(rf"{re.escape(self._prefix)}-(\d{{20,}})-\d{{4,}}\.\w+")
        with self._translated():
            found = [(ours.fullmatch(path.name), path) for path in self._directory.iterdir()]
            for path in sorted((path for match, path in found if match and int(match[1]) > oseq), reverse=True):
                path.unlink(missing_ok=True)
            sync_directory(self._directory)

    def _left_behind(self) -> list[Path]:
        ours = re.compile(rf"\.{re.escape(self._prefix)}-\d{{20,}}-\d{{4,}}\.\w+\.(\d+)\.draft")
        found = [(path, ours.fullmatch(path.name)) for path in self._directory.iterdir()]
        return [path for path, match in found if match and int(match[1]) <= self._epoch]

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise delivery_error(error, self._directory) from error


class Drafts:
    """The files of one delivery before they have their names."""

    def __init__(self, directory: Path, stem: str, ending: str, epoch: int) -> None:
        self._directory = directory
        self._stem = stem
        self._ending = ending
        self._epoch = epoch
        self._paths: dict[str, Path] = {}
        self._files: list[pa.NativeFile] = []

    @property
    def names(self) -> list[str]:
        """The names that the files are to have, in the order in which they were made."""
        return list(self._paths)

    def new(self) -> pa.NativeFile:
        """The next part, to write to."""
        name = f"{self._stem}-{len(self._paths):04d}.{self._ending}"
        self._paths[name] = self._directory / f".{name}.{self._epoch}.draft"
        self._files.append(pa.OSFile(str(self._paths[name]), "wb"))
        return self._files[-1]

    def sync(self) -> None:
        """Make the bytes of all files durable."""
        for path in self._paths.values():
            sync_file(path)

    def publish(self, name: str) -> None:
        """Give a file its name. One that is there already with the same bytes was published before a crash."""
        draft, target = self._paths[name], self._directory / name
        try:
            os.link(draft, target)
        except FileExistsError:
            if not _are_equal(draft, target):
                raise _taken(target) from None

    def sync_names(self) -> None:
        """Make the names durable."""
        sync_directory(self._directory)

    def remove(self) -> None:
        """Remove the hidden names; one that cannot be removed now is swept when the folder is opened again."""
        for file in self._files:
            with suppress(OSError):
                file.close()
        for path in self._paths.values():
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _are_equal(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        while block := a.read(_BLOCK):
            if block != b.read(_BLOCK):
                return False
    return True


def _taken(target: Path) -> Fatal:
    return Fatal(
        f"The file {target} is there with other bytes than this batch has.",
        kept="The file was left as it is.",
        remedy="If the format, rotate_at or the version of pyarrow was changed, change it back for this batch; "
        "otherwise find out who wrote the file, and move it away to have it written again.",
        path=str(target),
    )
