"""Looks into SQLite files without touching them: a copy is opened, since opening makes files beside the original."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from holdfast.disk.sqlite import connect

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy of the file and of the journal that belongs to it."""
    with TemporaryDirectory(prefix="holdfast-doctor-") as place:
        for name in (path.name, f"{path.name}-wal"):
            if (path.parent / name).is_file():
                shutil.copyfile(path.parent / name, Path(place) / name)
        yield Path(place) / path.name


@contextmanager
def opened(copy: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a copy."""
    with closing(connect(copy, "rw")) as db:
        yield db


def damage(db: sqlite3.Connection) -> str | None:
    """What SQLite itself finds wrong with a file; None when it is whole."""
    try:
        found = [str(line) for (line,) in db.execute("PRAGMA integrity_check(3)")]
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if found == ["ok"] else "; ".join(line.strip().splitlines()[-1] for line in found)
