"""Delivers to a table of a SQLite file on a local disk: rows, cursor and epoch in one transaction.

Instants are kept as RFC 3339 text, decimals as text, nested values as JSON text. SQLite has no NaN (it stores NULL), so
rows with one are refused. A batch is delivered when it was synced. The file must not lie on a network file system, and
an open sink must not be carried across a fork.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.columns.kinds import Kind, groups
from holdfast.sinks.columns.text import TEXT, date_text, timestamp_text
from holdfast.sinks.sql.sink import SqlSink
from holdfast.sinks.sql.sqlite_session import SqliteSession
from holdfast.sinks.sql.statements import TableName, insert
from holdfast.sinks.sql.table import Form, Table

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Iterator, Mapping

    from holdfast.sinks.sql.mode import Mode

_ROWS_AT_ONCE = 8192
"""How many rows are Python objects at the same time."""


class Sqlite(SqlSink["sqlite3.Connection"]):
    """A table in the file at `path`; both are made when they do not exist.

    :param mode: `"append"`, or `Upsert(key=[…])` for one row a key.
    """

    kind: ClassVar[str] = "sqlite"

    def __init__(self, path: str | os.PathLike[str], *, table: str, mode: Mode = "append") -> None:
        super().__init__(SqliteSession(path), Table(TableName(table), mode, _FORMS))

    def _columns_of(self, db: sqlite3.Connection, table: TableName) -> Mapping[str, bool]:
        needs_value = '"notnull" AND dflt_value IS NULL AND NOT pk'
        return dict(db.execute(f"SELECT name, {needs_value} FROM pragma_table_info(?1)", (table.table,)).fetchall())

    def _write(self, db: sqlite3.Connection, rows: pa.Table) -> None:
        places = f"VALUES ({', '.join('?' * rows.num_columns)})"
        statement = insert(self._table.name, rows.schema.names, places, self._table.mode)
        db.executemany(statement, chain.from_iterable(map(self._python_rows, groups(rows, _ROWS_AT_ONCE))))

    def _python_rows(self, group: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
        return zip(*(column.to_pylist() for column in self._table.converted(group)), strict=True)


def _without_nan(array: pa.Array) -> pa.Array:
    if pc.any(pc.is_nan(array)).as_py():
        raise pa.ArrowInvalid("SQLite has no NaN")
    return array


_FORMS = {
    Kind.NULL: Form("TEXT"),
    Kind.BOOLEAN: Form("BOOLEAN", lambda array: array.cast(pa.int8())),
    Kind.INTEGER: Form("INTEGER"),
    Kind.UNSIGNED: Form("INTEGER", lambda array: array.cast(pa.int64())),
    Kind.SINGLE: Form("REAL", _without_nan),
    Kind.DOUBLE: Form("REAL", _without_nan),
    Kind.DECIMAL: Form("TEXT", lambda array: pc.cast(array, TEXT)),
    Kind.TEXT: Form("TEXT"),
    Kind.BINARY: Form("BLOB"),
    Kind.DATE: Form("TEXT", date_text),
    Kind.TIME: Form("TEXT", lambda array: pc.cast(array, TEXT)),
    Kind.DATETIME: Form("TEXT", timestamp_text),
    Kind.INSTANT: Form("TEXT", timestamp_text),
    Kind.LIST: Form("TEXT"),
    Kind.MAP: Form("TEXT"),
    Kind.STRUCT: Form("TEXT"),
}
