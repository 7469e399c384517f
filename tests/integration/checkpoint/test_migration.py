"""A SQL store of an older format is read, migrated once in one transaction, and never goes back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import psycopg
import pytest

from holdfast.checkpoint.contract import CheckpointStore, Origin
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.model.errors import ForeignFile, HoldfastError, InvalidKey, UnknownFormat

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.servers import Servers

LEGACY_TABLE = """
CREATE TABLE checkpoints (
    key TEXT NOT NULL, version INTEGER NOT NULL, payload {blob} NOT NULL, created_at TEXT NOT NULL,
    UNIQUE (key, version)
)
"""
WRITTEN = "2025-03-04T05:06:07.123456789+00:00"
LEGACY_ROWS = [
    ("orders::sink::kafka", 1, b'{"lsn":"0/10"}', WRITTEN),
    ("orders::sink::kafka", 2, b'{"lsn":"0/20"}', WRITTEN),
    ("orders", 7, b"large " * 2000, WRITTEN),
]


class Place(Protocol):
    """A database that something else wrote."""

    blob: str

    def run(self, *statements: str) -> None: ...

    def write(self, statement: str, rows: list[tuple[str, int, bytes, str]]) -> None: ...

    def read(self, statement: str) -> list[tuple[object, ...]]: ...

    def open(self) -> CheckpointStore: ...


class SqlitePlace:
    blob = "BLOB"

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            for statement in statements:
                db.execute(statement)

    def write(self, statement: str, rows: list[tuple[str, int, bytes, str]]) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            db.executemany(statement.replace("%s", "?"), rows)

    def read(self, statement: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(self.path)) as db:
            return db.execute(statement).fetchall()

    def open(self) -> CheckpointStore:
        return SqliteStore(self.path)


class PostgresPlace:
    blob = "BYTEA"

    def __init__(self, dsn: str) -> None:
        schema = f"s{uuid4().hex}"
        with psycopg.connect(dsn) as db:
            db.execute(f"CREATE SCHEMA {schema}")
        self.dsn = f"{dsn} options='-csearch_path={schema}'"

    def run(self, *statements: str) -> None:
        with psycopg.connect(self.dsn) as db:
            for statement in statements:
                db.execute(statement)

    def write(self, statement: str, rows: list[tuple[str, int, bytes, str]]) -> None:
        with psycopg.connect(self.dsn) as db, db.cursor() as cursor:
            cursor.executemany(statement, rows)

    def read(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn) as db:
            return db.execute(statement).fetchall()

    def open(self) -> CheckpointStore:
        return PostgresStore(self.dsn, namespace="orders")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Place:
    return SqlitePlace(tmp_path / "old.db") if request.param == "sqlite" else PostgresPlace(servers.postgres())


@pytest.fixture
def legacy(place: Place) -> Place:
    place.run(LEGACY_TABLE.format(blob=place.blob))
    place.write("INSERT INTO checkpoints VALUES (%s, %s, %s, %s)", LEGACY_ROWS)
    return place


@pytest.mark.req("D7")
def test_the_old_format_is_read_with_its_versions_and_times(legacy: Place) -> None:
    with legacy.open() as store:
        assert store.keys() == ["orders", "orders::sink::kafka"]
        versions = store.versions("orders::sink::kafka")
        assert [(version.number, version.origin, version.epoch) for version in versions] == [
            (1, Origin.MIGRATION, 0),
            (2, Origin.MIGRATION, 0),
        ]
        assert versions[0].created_at == datetime(2025, 3, 4, 5, 6, 7, 123456, UTC)
        payloads = [store.get_version(key, number).payload for key, number, _, _ in LEGACY_ROWS]
    assert payloads == [payload for _, _, payload, _ in LEGACY_ROWS]


@pytest.mark.req("D7")
def test_a_migrated_store_is_written_under_an_epoch_and_goes_on_counting(legacy: Place) -> None:
    with legacy.open() as store:
        assert store.put_raw("orders", b"new", epoch=store.take_over()) == 8


@pytest.mark.req("D7")
def test_it_is_migrated_once_and_never_goes_back(legacy: Place) -> None:
    with legacy.open() as store:
        epoch = store.take_over()
        store.put_raw("orders", b"new", epoch=epoch)
        store.delete("orders::sink::kafka", epoch=epoch)
    legacy.write("INSERT INTO checkpoints VALUES (%s, %s, %s, %s)", [("orders", 9, b"an old program", WRITTEN)])
    with legacy.open() as again:
        assert again.keys() == ["orders"]
        assert [version.number for version in again.versions("orders")] == [7, 8]
        assert again.epoch() == epoch


@pytest.mark.req("D7")
def test_a_migration_that_fails_leaves_the_old_store_as_it_was(legacy: Place) -> None:
    legacy.write("INSERT INTO checkpoints VALUES (%s, %s, %s, %s)", [("not a key", 1, b"", WRITTEN)])
    with pytest.raises(InvalidKey):
        legacy.open()
    assert len(legacy.read("SELECT * FROM checkpoints")) == 4
    legacy.run("DELETE FROM checkpoints WHERE key = 'not a key'")
    with legacy.open() as store:
        assert store.keys() == ["orders", "orders::sink::kafka"]


FOREIGN = {
    "our name, other columns": ("CREATE TABLE holdfast_meta (name TEXT)",),
    "no format number": ("CREATE TABLE holdfast_meta (format BIGINT)",),
    "format number alone": ("CREATE TABLE holdfast_meta (format BIGINT)", "INSERT INTO holdfast_meta VALUES (1)"),
    "one of our tables": ("CREATE TABLE holdfast_keys (namespace TEXT)",),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_tables_that_are_not_ours_are_refused_and_left_alone(place: Place, case: str) -> None:
    place.run(*FOREIGN[case])
    with pytest.raises(ForeignFile):
        place.open()
    place.run(FOREIGN[case][0].replace("CREATE TABLE", "DROP TABLE").split(" (")[0])


def test_a_database_of_another_program_is_refused_in_a_file_and_shared_on_a_server(place: Place) -> None:
    place.run("CREATE TABLE customers (id INTEGER)", "CREATE TABLE checkpoints (thread_id TEXT, state TEXT)")
    if isinstance(place, SqlitePlace):
        with pytest.raises(ForeignFile, match="customers"):
            place.open()
    else:
        with place.open() as store:
            assert store.keys() == []
    assert place.read("SELECT * FROM customers") == []


@pytest.mark.req("D7")
def test_a_newer_format_is_refused_and_left_alone(place: Place) -> None:
    with place.open() as store:
        store.put_raw("a", b"1", epoch=store.take_over())
    place.run("UPDATE holdfast_meta SET format = 2")
    with pytest.raises(UnknownFormat) as refused:
        place.open()
    assert isinstance(refused.value, HoldfastError)
    place.run("UPDATE holdfast_meta SET format = 1")
    with place.open() as store:
        assert store.keys() == ["a"]
