"""What an answer of a database or of the operating system means for a delivery, as tables."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psycopg
import pytest

from holdfast.model.errors import DeliveryError, Fatal, Rejected, Throttled, Transient
from holdfast.sinks.filesystem.oserrors import delivery_error
from holdfast.sinks.sql.postgres_session import PostgresSession
from holdfast.sinks.sql.sqlite_session import SqliteSession

POSTGRES: dict[type[DeliveryError], list[str]] = {
    Rejected: [
        "22001",
        "22003",
        "22007",
        "22021",
        "22P02",
        "22P05",
        "23502",
        "23503",
        "23505",
        "23514",
        "44000",
        "P0001",
    ],
    Throttled: ["53300"],
    Transient: ["08006", "40001", "40P01", "53100", "53200", "55P03", "57014", "57P01", "57P03", "58030", "XX000"],
    Fatal: ["28P01", "3D000", "3F000", "25006", "42501", "42P01", "42703", "42804", "42P10", "0A000", "XX001"],
}
REFUSALS: dict[type[DeliveryError], list[str]] = {
    Throttled: [
        "FATAL:  sorry, too many clients already",
        'FATAL:  too many connections for role "holdfast"',
        "FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute",
    ],
    Fatal: [
        'FATAL:  password authentication failed for user "holdfast"',
        'FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "holdfast"',
        'FATAL:  database "orders" does not exist',
    ],
    Transient: [
        "connection refused",
        "FATAL:  the database system is starting up",
        "server closed the connection unexpectedly",
        "the connection is lost",
    ],
}
SQLITE: dict[type[DeliveryError], list[int]] = {
    Rejected: [sqlite3.SQLITE_CONSTRAINT_CHECK, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH],
    Transient: [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_NOMEM],
    Fatal: [sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR],
}
SYSTEM: dict[type[DeliveryError], list[int]] = {
    Transient: [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOENT, errno.ESTALE],
    Fatal: [errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG],
}


def cases(table: Mapping[type[DeliveryError], Sequence[object]]) -> list[tuple[object, type[DeliveryError]]]:
    return [(answer, kind) for kind, answers in table.items() for answer in answers]


@pytest.mark.parametrize(("state", "kind"), cases(POSTGRES))
def test_a_state_of_postgresql(state: str, kind: type[DeliveryError]) -> None:
    error = psycopg.errors.lookup(state)("no")
    assert type(PostgresSession("host=nowhere", "orders").meaning(error)) is kind


@pytest.mark.parametrize(("text", "kind"), cases(REFUSALS))
def test_a_refusal_of_postgresql_that_has_no_state(text: str, kind: type[DeliveryError]) -> None:
    assert type(PostgresSession("host=nowhere", "orders").meaning(psycopg.OperationalError(text))) is kind


@pytest.mark.parametrize("state", [None, "08006", "57P01", "57P02"])
def test_a_commit_without_an_answer_or_with_a_farewell_is_in_doubt(state: str | None) -> None:
    error = psycopg.OperationalError("lost") if state is None else psycopg.errors.lookup(state)("lost")
    assert PostgresSession("host=nowhere", "orders").leaves_commit_unknown(error)


@pytest.mark.parametrize("state", ["23503", "40001", "53100"])
def test_a_commit_that_was_answered_with_a_refusal_is_not_in_doubt(state: str) -> None:
    assert not PostgresSession("host=nowhere", "orders").leaves_commit_unknown(psycopg.errors.lookup(state)("no"))


@pytest.mark.parametrize(("code", "kind"), cases(SQLITE))
def test_a_result_code_of_sqlite(tmp_path: Path, code: int, kind: type[DeliveryError]) -> None:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    assert type(SqliteSession(tmp_path / "orders.db").meaning(error)) is kind


@pytest.mark.parametrize(("number", "kind"), cases(SYSTEM))
def test_an_error_of_the_operating_system(number: int, kind: type[DeliveryError]) -> None:
    assert type(delivery_error(OSError(number, os.strerror(number)), Path("/data"))) is kind


def test_a_password_in_the_dsn_is_in_no_message() -> None:
    session = PostgresSession("host=nowhere password=hunter2", "orders")
    assert "hunter2" not in str(session.meaning(psycopg.OperationalError("connection refused")))


def test_importing_the_sinks_loads_no_client_library() -> None:
    code = "import sys, holdfast.sinks; print('psycopg' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "False"
