"""How a log is made, recognised and claimed. What is not certainly ours is refused and left as it was.

The order matters: nothing is written before the place is known to be ours, and nothing is swept before the epoch is
claimed.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from holdfast.disk.files import sync_directory
from holdfast.disk.sqlite import corrupt, primary_code
from holdfast.log.disk import make_directory
from holdfast.log.index import Index, roll_back
from holdfast.log.oserrors import disk_error, foreign, missing
from holdfast.model.clock import Clock, utc_now
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

FILE = "index.db"
FORMAT = 1

_SIDE_FILES = {f"{FILE}-wal", f"{FILE}-shm"}

_LOG = """
    CREATE TABLE log (
        format INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, uuid TEXT NOT NULL,
        epoch INTEGER NOT NULL DEFAULT 0, opening INTEGER NOT NULL DEFAULT 0);
"""


@dataclass(frozen=True, slots=True)
class Layout:
    """What one kind of log looks like on disk."""

    kind: str
    tables: str
    """The statements that make its tables, each ended by a semicolon."""
    data: str
    """The directory of its data, beside the index."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which log it is. One that was lost and made anew has another uuid."""

    kind: str
    name: str
    uuid: str


def random_uuid() -> str:
    """The identity of a new log."""
    return str(uuid4())


@dataclass(frozen=True, slots=True)
class Owner:
    """Who opens a log to write to it, and what it brings along."""

    epoch: int
    hook: StepHook = no_hook
    clock: Clock = utc_now
    new_uuid: Callable[[], str] = random_uuid


def open_owned(directory: Path, layout: Layout, *, name: str, owner: Owner) -> tuple[Index, Identity]:
    """The index for an owner, made when there is no log yet. The epoch is not claimed yet."""
    make_directory(directory)
    _refuse_what_is_not_a_log(directory, layout)
    index = Index(directory / FILE, owner.epoch)
    try:
        if _is_empty(index):
            _make(index, layout, Identity(layout.kind, name, owner.new_uuid()))
        identity = identify(index, layout.kind, name)
        with index.reading() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
        make_directory(directory / layout.data)
    except BaseException:
        index.close()
        raise
    return index, identity


def open_to_read(directory: Path, kind: str) -> tuple[Index, Identity]:
    """The index of an existing log, for any process of the host."""
    if not (directory / FILE).exists():
        raise missing(directory / FILE)
    index = Index(directory / FILE)
    try:
        return index, identify(index, kind)
    except BaseException:
        index.close()
        raise


def identify(index: Index, kind: str, name: str | None = None) -> Identity:
    """Which log it is; `ForeignLog` when it is none of ours, of another kind or format, or has another name."""
    with index.reading() as db:
        try:
            found = db.execute("SELECT format, kind, name, uuid FROM log").fetchone()
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_ERROR:
                raise
            raise foreign(index.path, "its tables are not ours") from error
        if found is not None and not (isinstance(found[0], int) and all(isinstance(text, str) for text in found[1:])):
            raise corrupt("the row that says which log it is is damaged")
    if found is None or found[0] > FORMAT:
        why = "it has no identity" if found is None else f"it has format {found[0]}, and this version reads {FORMAT}"
        raise foreign(index.path, why)
    identity = Identity(*found[1:])
    if identity.kind != kind:
        raise foreign(index.path, f"it is a log of the kind {identity.kind!r}, not {kind!r}")
    if name is not None and identity.name != name:
        raise foreign(index.path, f"it is the log of {identity.name!r}, not of {name!r}")
    return identity


def claim(index: Index, *, found: Iterable[int | None]) -> None:
    """Become the owner: from here on every earlier one is refused. `LogFenced` when there is a newer one.

    :param found: the epochs of the owners that wrote the data files there are. Since an owner claims before it writes,
        a file of a later owner than the index has seen means that the index is an older copy.
    """
    with index.committing() as db:
        (claimed,) = db.execute("SELECT epoch FROM log").fetchone()
        newest = max((number for number in found if number is not None), default=0)
        if newest > claimed:
            raise missing(index.path, f"it is an older copy: epoch {newest} wrote what it lacks")
        index.claim(db)


def _refuse_what_is_not_a_log(directory: Path, layout: Layout) -> None:
    """Without an index, the directory must be empty, or as a crash left it while the log was being made."""
    path = directory / FILE
    try:
        there = {entry.name for entry in directory.iterdir()}
        has_data = layout.data in there and any((directory / layout.data).iterdir())
        is_index_empty = FILE not in there or path.stat().st_size == 0
    except OSError as error:
        raise disk_error(error, directory) from error
    others = there - {FILE, layout.data, *_SIDE_FILES}
    if FILE not in there and others:
        raise foreign(directory, f"it holds other files ({', '.join(sorted(others)[:3])})")
    if is_index_empty and (has_data or there & _SIDE_FILES):
        raise missing(path, "it is gone, while the data that it describes is there")


def _is_empty(index: Index) -> bool:
    with index.reading() as db:
        return not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _make(index: Index, layout: Layout, identity: Identity) -> None:
    with index.reading() as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in (_LOG + layout.tables).split(";"):
                db.execute(statement)
            row = (FORMAT, identity.kind, identity.name, identity.uuid)
            db.execute("INSERT INTO log (format, kind, name, uuid) VALUES (?, ?, ?, ?)", row)
            db.execute("COMMIT")
        except BaseException:
            roll_back(db)
            raise
    try:
        sync_directory(index.path.parent)
    except OSError as error:
        raise disk_error(error, index.path.parent) from error
