"""Reads the tables that fusion writes, beside whoever writes them. It makes nothing, changes nothing and locks nothing.

A table that is not there yet has no rows. One that is being written to is waited for, but not for long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from holdfast.disk.sqlite import primary_code
from holdfast.model.errors import StoreUnavailable
from holdfast.sinks.sql.statements import CURSORS
from meridian.fusion.outputs import place

PATIENCE = 2.0
"""Seconds for which a file that is being written to is waited for."""

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables below the home of an operation."""

    directory: Path

    def rows(self, table: str, behind: str = "", *values: str | int) -> list[Row]:
        """The rows of a table.

        :param behind: what follows on `FROM table`: conditions, order, a limit.
        """
        with self._reading(table) as db:
            return _select(db, f"SELECT * FROM {table} {behind}", *values) if db else []

    def count(self, table: str) -> int:
        """How many rows a table has."""
        with self._reading(table) as db:
            found = _select(db, f"SELECT count(*) AS count FROM {table}") if db else []
        return int(str(found[0]["count"])) if found else 0

    def reached(self, table: str, behind: str, *values: str | int) -> tuple[list[Row], int | None]:
        """The same rows, and the last batch of the outbox that is in the table, at one moment."""
        with self._reading(table) as db:
            if db is None:
                return [], None
            db.execute("BEGIN")
            found = _select(db, f"SELECT * FROM {table} {behind}", *values)
            cursors = _select(db, f"SELECT oseq FROM {CURSORS} WHERE lane = ?1 ORDER BY epoch DESC, oseq DESC", table)
        return found, int(str(cursors[0]["oseq"])) if cursors else None

    @contextmanager
    def _reading(self, table: str) -> Iterator[sqlite3.Connection | None]:
        path = place(self.directory, table)
        if not path.exists():
            yield None
            return
        try:
            with closing(_connected(path)) as db:
                yield db
        except sqlite3.Error as error:
            raise StoreUnavailable(
                f"{path} cannot be read: {error}.",
                kept="Nothing was changed.",
                remedy="Try again; if it stays so, see that it is a file of fusion on a local disk that you may read.",
            ) from error


def _connected(path: Path) -> sqlite3.Connection:
    """A file that nobody has open is read as it lies there: SQLite would make files beside it, and leave them."""
    is_open = path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro" if is_open else "mode=ro&immutable=1"
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=PATIENCE, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


def _select(db: sqlite3.Connection, statement: str, *values: str | int) -> list[Row]:
    """The rows; none when there is no such table, which is made with its first row."""
    try:
        return [dict(row) for row in db.execute(statement, values)]
    except sqlite3.OperationalError as error:
        if primary_code(error) == sqlite3.SQLITE_ERROR and "no such table" in str(error):
            return []
        raise
