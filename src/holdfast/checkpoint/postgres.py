"""Keeps checkpoints in a PostgreSQL database that several hosts share.

A commit locks its owner's row first, so the check of the epoch and the write are one transaction and the commits of a
namespace follow one another. A connection that is lost is made again by the next call. Needs the extra `postgres`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Durability
from holdfast.checkpoint.sql.schema import Dialect
from holdfast.checkpoint.sql.store import SqlStore
from holdfast.clients import postgres
from holdfast.model.clock import utc_now
from holdfast.model.errors import (
    CheckpointDamaged,
    CheckpointError,
    ForeignFile,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import LiteralString

    import psycopg

    from holdfast.checkpoint.sql.schema import Row, Value
    from holdfast.model.clock import Clock

_SCHEMA_CHANGE = 0x686F6C64
"""The advisory lock that two hosts must not hold at once while they make or migrate the tables."""

_DIALECT = Dialect(
    begin="BEGIN ISOLATION LEVEL READ COMMITTED",
    lock_schema=(f"SELECT pg_advisory_xact_lock({_SCHEMA_CHANGE})",),
    lock_row=" FOR UPDATE",
    blob="BYTEA",
    list_columns="SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()",
    is_shared=True,
)

_FULL = ("53100",)
_READ_ONLY = ("25006", "42501")
_FOREIGN = ("42P01", "42703", "3D000", "3F000")
_DAMAGED = ("XX001", "XX002")


class PostgresStore(SqlStore):
    """A store in the database that `dsn` names, in the schema that comes first on its search path.

    :param namespace: the pipeline's name; stores with different namespaces share the tables and nothing else.
    """

    durability = Durability.REMOTE
    _dialect = _DIALECT

    def __init__(self, dsn: str, *, namespace: str, clock: Clock = utc_now) -> None:
        super().__init__(namespace, clock=clock)
        postgres.require_psycopg("The PostgreSQL store")
        self._dsn = dsn
        self._open()

    @property
    def _place(self) -> str:
        return f"The PostgreSQL store {self._namespace!r}"

    def _driver_error(self) -> type[Exception]:
        return postgres.driver_error()

    def _create(self) -> _Adapter:
        return self._connect()

    def _connect(self) -> _Adapter:
        return _Adapter(postgres.connect(self._dsn, application="holdfast checkpoints"))

    def _translate(self, error: Exception) -> CheckpointError:
        kind, remedy = _meaning(postgres.sqlstate(error))
        return kind(f"{self._place} failed: {str(error).strip()}.", remedy=remedy, namespace=self._namespace)

    def _leaves_commit_unknown(self, error: Exception) -> bool:
        return postgres.leaves_commit_unknown(error)


class _Adapter:
    """A connection that takes `?` for a parameter."""

    def __init__(self, connection: psycopg.Connection[Row]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[Value] = ()) -> psycopg.Cursor[Row]:
        """Run one statement."""
        return self._connection.execute(_native(sql), parameters or None)

    def executemany(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Run one statement for each row, in one round trip."""
        self._connection.cursor().executemany(_native(sql), rows)

    def close(self) -> None:
        """Give the connection up."""
        self._connection.close()


def _native(sql: str) -> LiteralString:
    """The statement with PostgreSQL's placeholders; none of ours has a question mark or a percent sign in its text."""
    return sql.replace("?", "%s")


def _meaning(state: str | None) -> tuple[type[CheckpointError], str]:
    if state in _FULL:
        return StoreFull, "Make room on the server; the next commit goes on by itself."
    if state in _READ_ONLY:
        return StoreReadOnly, "Connect to the primary server, with a role that may write these tables."
    if state in _FOREIGN:
        return ForeignFile, "Name the database and schema that hold the store."
    if state in _DAMAGED:
        return CheckpointDamaged, "Restore the database, or go on from the replica."
    return StoreUnavailable, "See that the server runs and accepts us; the next call connects again by itself."
