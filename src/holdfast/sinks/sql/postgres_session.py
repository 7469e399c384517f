"""A connection to PostgreSQL, and what its errors mean for a delivery. Needs the extra `postgres`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.model.errors import DeliveryError, Fatal, MissingExtra, Rejected, Throttled, Transient
from holdfast.sinks.sql.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import psycopg

    from holdfast.sinks.sql.session import Result

_CONNECTION_DEFAULTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "application_name": "holdfast sink",
}
"""A server that vanishes without a word is noticed within seconds; what the DSN says comes first."""

_SESSION = (
    "SET synchronous_commit = on",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '30s'",
)
"""A batch that was committed is on the server's disk; an owner that hangs in a transaction does not block the next."""

_DATA = re.compile("22|23|44|54000|P0001")
"""Data exceptions, constraints, views that check, rows too large, and what a trigger of the user's raised."""
_TOO_MANY = re.compile("53300")
_PASSES = re.compile("08|40|53|55P03|57|58|XX000|25P03")
"""Connections, deadlocks, resources, locks not got in time, a server that is told to stop, its disk."""

_REFUSALS = (
    (re.compile("too many (clients|connections)|remaining connection slots"), Throttled),
    (re.compile("authentication failed|no pg_hba.conf entry|does not exist|permission denied|not permitted"), Fatal),
)
"""What a server says when it does not let us in: then the driver tells no SQLSTATE, only the text."""

_REMEDIES: dict[type[DeliveryError], str] = {
    Rejected: "The rows that are refused alone go to the dead letters.",
    Throttled: "The batch is tried again later; raise the server's limit of connections if it stays so.",
    Transient: "The batch is tried again by itself, over a new connection.",
    Fatal: "See that the role may use the table and the table is what the sink expects, then start the lane again.",
}


class PostgresSession(Session["PostgresConnection"]):
    """The first schema on the search path of `dsn` is where a table without a schema lies."""

    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

    def __init__(self, dsn: str, table: str) -> None:
        super().__init__(f"The PostgreSQL table {table}")
        try:
            import psycopg
        except ImportError as error:
            raise _missing() from error
        self._psycopg = psycopg
        self._dsn = dsn

    def driver_error(self) -> type[Exception]:
        """The root of the driver's errors."""
        return self._psycopg.Error

    def connect(self) -> PostgresConnection:
        """Connect and set up the session."""
        settings = _CONNECTION_DEFAULTS | self._psycopg.conninfo.conninfo_to_dict(self._dsn)
        conninfo = self._psycopg.conninfo.make_conninfo("", **settings)
        connection = self._psycopg.connect(
            conninfo, autocommit=True, prepare_threshold=None, cursor_factory=self._psycopg.RawCursor
        )
        db = PostgresConnection(connection)
        try:
            for statement in _SESSION:
                db.execute(statement)
        except BaseException:
            db.close()
            raise
        return db

    def leaves_commit_unknown(self, error: Exception) -> bool:
        """Any answer of the server but its farewell says that the transaction was rolled back."""
        state = _state(error)
        return state is None or state.startswith(("08", "57P"))

    def meaning(self, error: Exception) -> DeliveryError:
        """Data that is refused, a condition that passes, or one that somebody must end."""
        state = _state(error)
        kind = _of_refusal(str(error)) if state is None else _of_state(state)
        return kind(
            f"{self.place} failed: {str(error).strip()}.",
            kept="Nothing of the batch was written.",
            remedy=_REMEDIES[kind],
            sqlstate=state,
        )


class PostgresConnection:
    """A connection that takes `?1` for a parameter, and CSV for a table."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
        self._connection = connection

    def execute(self, sql: str, parameters: Sequence[str | int] = (), /) -> Result:
        """Run one statement."""
        if not parameters:
            return self._connection.execute(sql.encode())
        return self._connection.execute(sql.replace("?", "$").encode(), parameters)

    def copy_csv(self, table: str, columns: str, blocks: Iterable[memoryview]) -> None:
        """Send rows in PostgreSQL's CSV: what is not quoted and empty is null."""
        statement = f"COPY {table} ({columns}) FROM STDIN WITH (FORMAT csv, ENCODING 'UTF8')"
        with self._connection.cursor().copy(statement.encode()) as copy:
            for block in blocks:
                copy.write(block)

    def close(self) -> None:
        """Give the connection up."""
        self._connection.close()


def _state(error: Exception) -> str | None:
    """The SQLSTATE the server answered with, or None when there was no answer."""
    state: str | None = getattr(error, "sqlstate", None)
    return state


def _of_state(state: str) -> type[DeliveryError]:
    if _DATA.match(state):
        return Rejected
    if _TOO_MANY.match(state):
        return Throttled
    return Transient if _PASSES.match(state) else Fatal


def _of_refusal(text: str) -> type[DeliveryError]:
    return next((kind for says, kind in _REFUSALS if says.search(text)), Transient)


def _missing() -> MissingExtra:
    return MissingExtra(
        "The PostgreSQL sink needs the client library psycopg, which is not installed.",
        remedy="Install it: pip install holdfast[postgres]",
        extra="postgres",
    )
