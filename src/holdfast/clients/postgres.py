"""A connection to PostgreSQL that notices a server that is gone. Needs the extra `postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.errors import MissingExtra

if TYPE_CHECKING:
    from typing import Any

    import psycopg

_DEFAULTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
}
"""A server that vanishes without a word is noticed within seconds; what the DSN says comes first."""

_SESSION = (
    "SET synchronous_commit = on",
    "SET lock_timeout = '10s'",
    "SET idle_in_transaction_session_timeout = '30s'",
)
"""What was committed is on the server's disk; an owner that hangs in a transaction does not block the next."""


def require_psycopg(who: str) -> None:
    """Raise `MissingExtra` when the client library is not installed.

    :param who: what needs it, as the error names it.
    """
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            f"{who} needs the client library psycopg, which is not installed.",
            remedy="Install it: pip install holdfast[postgres]",
            extra="postgres",
        ) from error


def driver_error() -> type[Exception]:
    """The root of the driver's errors."""
    import psycopg

    return psycopg.Error


def connect(
    dsn: str, *, application: str, cursor: type[psycopg.Cursor[Any]] | None = None
) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection that leaves transactions to the caller.

    :param application: how the server names us, unless the DSN says otherwise.
    :param cursor: what runs the statements; the driver's own when it is None.
    """
    import psycopg

    settings = {**_DEFAULTS, "application_name": application, **psycopg.conninfo.conninfo_to_dict(dsn)}
    conninfo = psycopg.conninfo.make_conninfo("", **settings)
    connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, cursor_factory=cursor)
    try:
        for statement in _SESSION:
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


def sqlstate(error: Exception) -> str | None:
    """The SQLSTATE the server answered with, or None when there was no answer."""
    state: str | None = getattr(error, "sqlstate", None)
    return state


def leaves_commit_unknown(error: Exception) -> bool:
    """Whether a COMMIT may have happened: any answer of the server but its farewell says that it was rolled back."""
    state = sqlstate(error)
    return state is None or state.startswith(("08", "57P"))
