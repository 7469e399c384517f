"""Delivers to a table of a PostgreSQL database: rows by COPY, with cursor and epoch in the same transaction.

Instants become `timestamptz`, decimals `numeric`, nested values `jsonb`. PostgreSQL keeps microseconds, so rows with
nanoseconds that are not zero are refused. A batch is delivered when the server's disk has it. A connection that is lost
is made again by the next call. Needs the extra `postgres`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyarrow import csv

from holdfast.sinks.columns.kinds import Kind, groups
from holdfast.sinks.columns.text import date_text, hex_text, timestamp_text
from holdfast.sinks.sql.mode import Upsert
from holdfast.sinks.sql.postgres_session import PostgresConnection, PostgresSession
from holdfast.sinks.sql.sink import SqlSink
from holdfast.sinks.sql.statements import TableName, insert, listed, quoted
from holdfast.sinks.sql.table import Form, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from holdfast.deliver.contract import LaneIdentity
    from holdfast.sinks.sql.mode import Mode

_ROWS_AT_ONCE = 16384
"""How many rows are text at the same time."""

_CREATING, _CLAIMING = 0x686F6C64, 0x686F6C65
"""The classes of advisory locks: two connections must not make one table, or claim one lane, at the same time."""

_STAGED = "_holdfast_staged"
_CSV = csv.WriteOptions(include_header=False, quoting_style="all_valid")


class Postgres(SqlSink[PostgresConnection]):
    """A table in the database that `dsn` names, made when it does not exist; its schema must be there.

    :param table: `"orders"`, or `"archive.orders"` with a schema. The cursor table lies beside it.
    :param mode: `"append"`, or `Upsert(key=[…])` for one row a key.
    """

    kind: ClassVar[str] = "postgres"

    def __init__(self, dsn: str, *, table: str, mode: Mode = "append") -> None:
        *schema, name = table.split(".", 1)
        super().__init__(PostgresSession(dsn, table), Table(TableName(name, *schema), mode, _FORMS))

    def _columns_of(self, db: PostgresConnection, table: TableName) -> Mapping[str, bool]:
        needs_value = "attnotnull AND NOT atthasdef AND attidentity = ''"
        listing = f"SELECT attname, {needs_value} FROM pg_attribute WHERE attrelid = to_regclass(?1)"
        return dict(db.execute(f"{listing} AND attnum > 0 AND NOT attisdropped", (str(table),)).fetchall())

    def _write(self, db: PostgresConnection, rows: pa.Table) -> None:
        columns = listed(rows.schema.names)
        if not isinstance(self._table.mode, Upsert):
            db.copy_csv(str(self._table.name), columns, self._blocks(rows))
            return
        db.execute(
            f"CREATE TEMPORARY TABLE {_STAGED} ON COMMIT DROP AS SELECT {columns} FROM {self._table.name} WITH NO DATA"
        )
        db.copy_csv(_STAGED, columns, self._blocks(rows))
        db.execute(
            insert(self._table.name, rows.schema.names, _newest_staged(columns, self._table.mode), self._table.mode)
        )

    def _blocks(self, rows: pa.Table) -> Iterator[memoryview]:
        for group in groups(rows, _ROWS_AT_ONCE):
            text = pa.BufferOutputStream()
            converted = pa.RecordBatch.from_arrays(self._table.converted(group), group.schema.names)
            csv.write_csv(converted, text, _CSV)
            yield memoryview(text.getvalue())

    def _lock_creation(self, db: PostgresConnection, table: TableName) -> None:
        db.execute(f"SELECT pg_advisory_xact_lock({_CREATING}, hashtext(?1))", (str(table),))

    def _lock_claims(self, db: PostgresConnection, identity: LaneIdentity) -> None:
        lane = f"{identity.pipeline}/{identity.lane}"
        db.execute(f"SELECT pg_advisory_xact_lock({_CLAIMING}, hashtext(?1))", (lane,))

    def _check_deferred(self, db: PostgresConnection) -> None:
        db.execute("SET CONSTRAINTS ALL IMMEDIATE")


def _newest_staged(columns: str, mode: Upsert) -> str:
    """One row a key, as the rows would leave it one after another: a statement may not change a row twice."""
    key = listed(mode.key)
    order = f"{key}, {quoted(mode.newer_by)} DESC, ctid"
    return f"SELECT DISTINCT ON ({key}) {columns} FROM {_STAGED} ORDER BY {order}"


def _decimal(type_: pa.DataType) -> str:
    """Exactly as wide, or without a bound where PostgreSQL has no such width."""
    fits = 0 <= type_.scale <= type_.precision
    return f"NUMERIC({type_.precision}, {type_.scale})" if fits else "NUMERIC"


def _microseconds(array: pa.Array) -> pa.Array:
    """Refuses to round."""
    return timestamp_text(array.cast(pa.timestamp("us", tz=array.type.tz)))


_FORMS = {
    Kind.NULL: Form("TEXT"),
    Kind.BOOLEAN: Form("BOOLEAN"),
    Kind.INTEGER: Form("BIGINT"),
    Kind.UNSIGNED: Form("NUMERIC(20, 0)"),
    Kind.SINGLE: Form("REAL"),
    Kind.DOUBLE: Form("DOUBLE PRECISION"),
    Kind.DECIMAL: Form(_decimal),
    Kind.TEXT: Form("TEXT"),
    Kind.BINARY: Form("BYTEA", hex_text),
    Kind.DATE: Form("DATE", date_text),
    Kind.TIME: Form("TIME", lambda array: array.cast(pa.time64("us"))),
    Kind.DATETIME: Form("TIMESTAMP", _microseconds),
    Kind.INSTANT: Form("TIMESTAMPTZ", _microseconds),
    Kind.LIST: Form("JSONB"),
    Kind.MAP: Form("JSONB"),
    Kind.STRUCT: Form("JSONB"),
}
