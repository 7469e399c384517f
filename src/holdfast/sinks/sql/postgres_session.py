"""A connection to PostgreSQL, and what its errors mean for a delivery. Needs the extra `postgres`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.clients import postgres
from holdfast.model.errors import DeliveryError, Fatal, Rejected, Throttled, Transient
from holdfast.sinks.sql.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    import psycopg

    from holdfast.sinks.sql.session import Result

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
    Fatal: "See that the role may use the table, and that it is what the sink expects. The batch is tried again.",
}


class PostgresSession(Session["PostgresConnection"]):
    """The first schema on the search path of `dsn` is where a table without a schema lies."""

    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

    def __init__(self, dsn: str, table: str) -> None:
        super().__init__(f"The PostgreSQL table {table}")
        postgres.require_psycopg("The PostgreSQL sink")
        self._dsn = dsn

    def driver_error(self) -> type[Exception]:
        """The root of the driver's errors."""
        return postgres.driver_error()

    def connect(self) -> PostgresConnection:
        """Connect and set up the session."""
        from psycopg import RawCursor

        return PostgresConnection(postgres.connect(self._dsn, application="holdfast sink", cursor=RawCursor))

    def leaves_commit_unknown(self, error: Exception) -> bool:
        """Whether the server may have committed before it was lost."""
        return postgres.leaves_commit_unknown(error)

    def meaning(self, error: Exception) -> DeliveryError:
        """Data that is refused, a condition that passes, or one that somebody must end."""
        state = postgres.sqlstate(error)
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


def _of_state(state: str) -> type[DeliveryError]:
    if _DATA.match(state):
        return Rejected
    if _TOO_MANY.match(state):
        return Throttled
    return Transient if _PASSES.match(state) else Fatal


def _of_refusal(text: str) -> type[DeliveryError]:
    return next((kind for says, kind in _REFUSALS if says.search(text)), Transient)
