"""A state and its offset, which must be written and read together, in a file store that is about to be hurt."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put
from holdfast.checkpoint.file import FileStore

STATE, OFFSET = "state", "offset"
OLD = {STATE: b"state after 1", OFFSET: b"offset 1"}
NEW = {STATE: b"state after 2", OFFSET: b"offset 2"}
SECOND = 3
"""The commit that writes the new pair, after the take-over and the old one."""


def write(store: CheckpointStore, pair: dict[str, bytes], epoch: int) -> None:
    store.commit(Commit(epoch, [Put(key, payload) for key, payload in pair.items()]))


def read(store: CheckpointStore) -> dict[str, bytes]:
    found = {key: store.get_raw(key) for key in OLD}
    return {key: stored.payload for key, stored in found.items() if stored}


def older(store: CheckpointStore) -> dict[str, bytes]:
    return {key: store.get_version(key, 1).payload for key in OLD}


def document(directory: Path, number: int) -> Path:
    return directory / "commits" / f"{number:020d}.json"


@dataclass
class Prepared:
    """A store with the old pair, to be copied for each experiment, and the bytes of the commit that comes next."""

    directory: Path
    epoch: int
    next_document: bytes
    _copies: Iterator[int]

    def copy(self) -> Path:
        target = self.directory.parent / f"copy-{next(self._copies)}"
        shutil.copytree(self.directory, target)
        return target


def prepare(tmp_path: Path) -> Prepared:
    """A store with the old pair."""
    directory = tmp_path / "store"
    store = FileStore(directory)
    epoch = store.take_over()
    write(store, OLD, epoch)
    prepared = Prepared(directory, epoch, b"", count())
    finished = prepared.copy()
    write(FileStore(finished), NEW, epoch)
    prepared.next_document = document(finished, SECOND).read_bytes()
    return prepared
