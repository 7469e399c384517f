"""A SQLite database that is refused is left as it was found, to the byte."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.model.errors import ForeignFile, UnknownFormat

if TYPE_CHECKING:
    from pathlib import Path

THEIRS = "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);"
TOO_NEW = "CREATE TABLE holdfast_meta (format); INSERT INTO holdfast_meta VALUES (99);"


def make_database(path: Path, script: str, journal_mode: str = "delete") -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {journal_mode}")
        db.executescript(script)


def files_in(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def journal_mode_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as db:
        return str(db.execute("PRAGMA journal_mode").fetchone()[0])


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
@pytest.mark.parametrize(("script", "error"), [(THEIRS, ForeignFile), (TOO_NEW, UnknownFormat)], ids=["foreign", "new"])
def test_a_database_that_is_refused_is_left_as_it_was(
    tmp_path: Path, script: str, error: type[Exception], journal_mode: str
) -> None:
    path = tmp_path / "c.db"
    make_database(path, script, journal_mode)
    before = files_in(tmp_path)
    with pytest.raises(error):
        SqliteStore(path)
    assert files_in(tmp_path) == before
    assert journal_mode_of(path) == journal_mode


def test_a_foreign_database_that_took_the_place_of_a_running_store_is_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "c.db"
    make_database(tmp_path / "foreign.db", THEIRS)
    with SqliteStore(path) as store:
        for name in ("c.db", "c.db-wal", "c.db-shm"):
            (tmp_path / name).unlink()
        (tmp_path / "foreign.db").rename(path)
        before = files_in(tmp_path)
        with pytest.raises(ForeignFile):
            store.take_over()
        assert files_in(tmp_path) == before
