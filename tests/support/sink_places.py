"""The sinks under test, each described by the few things that differ between them.

A place is where a sink delivers to. `sink` gives a handle on it, as another process would have, and `read` what
somebody finds there who knows nothing of us. To put another sink under the contract: write a class with these methods
and a line in `PLACES`; the whole suite then runs against it.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyarrow import parquet

from holdfast.sinks import Files, Format, Http, HttpBody, Postgres, Sqlite, Upsert
from tests.support.sink_decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.deliver.contract import Sink
    from holdfast.sinks.sql.mode import Mode
    from tests.support.http_receiver import RoomAddress
    from tests.support.servers import Servers

TABLE = "orders"
CURSORS = "_holdfast_cursors"
BY_ID = Upsert(key=["id"], newer_by="seq")


class Place(Protocol):
    """Somewhere a sink delivers to. Can be pickled, for a process of its own."""

    def sink(self) -> Sink:
        """A new handle, not yet open."""

    def read(self, schema: pa.Schema) -> pa.Table:
        """All rows, in the order in which they were written where the sink has one."""

    def is_untouched(self) -> bool:
        """Whether nobody can see that anything was ever delivered."""

    def save(self) -> None:
        """Take a copy of everything, as a backup does."""

    def restore(self) -> None:
        """Put the copy in its place; no handle is open."""


@dataclass
class SqlitePlace:
    """A table in a file."""

    path: Path
    mode: Mode = "append"

    def sink(self) -> Sink:
        return Sqlite(self.path, table=TABLE, mode=self.mode)

    def read(self, schema: pa.Schema) -> pa.Table:
        order = "rowid" if self.mode == "append" else "seq"
        return _table(self.query(f"SELECT {_names(schema)} FROM {TABLE} ORDER BY {order}"), schema, json.loads)

    def is_untouched(self) -> bool:
        (tables,) = self.query(f"SELECT count(*) FROM sqlite_master WHERE name = '{TABLE}'")[0]
        return bool(tables == 0)

    def save(self) -> None:
        with closing(sqlite3.connect(self.path)) as db:
            db.execute(f"VACUUM INTO '{self._copy}'")

    def restore(self) -> None:
        shutil.copyfile(self._copy, self.path)

    @property
    def _copy(self) -> Path:
        return self.path.with_suffix(".copy")

    def query(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as db:
            return db.execute(sql).fetchall()


@dataclass
class PostgresPlace:
    """A table in a schema of its own."""

    dsn: str
    mode: Mode = "append"

    def sink(self) -> Sink:
        return Postgres(self.dsn, table=TABLE, mode=self.mode)

    def read(self, schema: pa.Schema) -> pa.Table:
        order = "ctid" if self.mode == "append" else "seq"
        return _table(self.query(f"SELECT {_names(schema)} FROM {TABLE} ORDER BY {order}"), schema, lambda value: value)

    def is_untouched(self) -> bool:
        return self.query(f"SELECT to_regclass('{TABLE}')") == [(None,)]

    def save(self) -> None:
        for table in (TABLE, CURSORS):
            self.run(f"CREATE TABLE {table}_copy AS SELECT * FROM {table}")

    def restore(self) -> None:
        for table in (TABLE, CURSORS):
            self.run(f"TRUNCATE {table}")
            self.run(f"INSERT INTO {table} SELECT * FROM {table}_copy")

    def query(self, sql: str) -> list[Any]:
        """What somebody else reads."""
        import psycopg

        with psycopg.connect(self.dsn) as db:
            return db.execute(sql.encode()).fetchall()

    def run(self, *statements: str) -> None:
        """What somebody else does."""
        import psycopg

        with psycopg.connect(self.dsn) as db:
            for statement in statements:
                db.execute(statement.encode())


@dataclass
class FilesPlace:
    """A directory."""

    path: Path
    format: Format

    def sink(self) -> Sink:
        return Files(self.path, format=self.format, rotate_at=1)

    def read(self, schema: pa.Schema) -> pa.Table:
        found = [self._table(path, schema) for path in sorted(self.path.iterdir()) if not path.name.startswith(".")]
        return pa.concat_tables([*found, schema.empty_table()])

    def is_untouched(self) -> bool:
        return not list(self.path.iterdir())

    def save(self) -> None:
        shutil.copytree(self.path, self._copy)

    def restore(self) -> None:
        shutil.rmtree(self.path)
        shutil.copytree(self._copy, self.path)

    @property
    def _copy(self) -> Path:
        return self.path.with_suffix(".copy")

    def _table(self, path: Path, schema: pa.Schema) -> pa.Table:
        if self.format is Format.PARQUET:
            return parquet.read_table(path).cast(schema)
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        records = [json.loads(line) for line in lines]
        return _table([tuple(record[name] for name in schema.names) for record in records], schema, lambda value: value)


@dataclass
class HttpPlace:
    """A receiver that honours keys."""

    room: RoomAddress
    body: HttpBody

    def sink(self) -> Sink:
        return Http(self.room.url, body=self.body)

    def read(self, schema: pa.Schema) -> pa.Table:
        rows = [tuple(row[name] for name in schema.names) for row in self.room.look().rows]
        return _table(rows, schema, lambda value: value)

    def is_untouched(self) -> bool:
        return not self.room.look().requests

    def save(self) -> None:
        raise NotImplementedError("what others have is not ours to copy")

    def restore(self) -> None:
        raise NotImplementedError("what others have is not ours to take back")


def _names(schema: pa.Schema) -> str:
    return ", ".join(f'"{name}"' for name in schema.names)


def _table(rows: list[Any], schema: pa.Schema, nested: Callable[[Any], Any]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [() for _ in schema]
    read = [
        decoded(
            [nested(value) if value is not None and pa.types.is_nested(field.type) else value for value in column],
            field.type,
        )
        for field, column in zip(schema, columns, strict=True)
    ]
    return pa.Table.from_arrays(read, schema=schema)


def _postgres(_: Path, servers: Servers, mode: Mode = "append") -> PostgresPlace:
    schema = f"s{uuid.uuid4().hex}"
    PostgresPlace(servers.postgres()).run(f"CREATE SCHEMA {schema}")
    return PostgresPlace(f"{servers.postgres()} options='-csearch_path={schema}'", mode)


PLACES: Mapping[str, Callable[[Path, Servers], Place]] = {
    "sqlite": lambda path, _: SqlitePlace(path / "orders.db"),
    "sqlite-upsert": lambda path, _: SqlitePlace(path / "orders.db", BY_ID),
    "postgres": _postgres,
    "postgres-upsert": partial(_postgres, mode=BY_ID),
    "files-parquet": lambda path, _: FilesPlace(path / "orders", Format.PARQUET),
    "files-jsonl": lambda path, _: FilesPlace(path / "orders", Format.JSONL),
    "http-lines": lambda _, servers: HttpPlace(servers.fresh_room(), HttpBody.LINES),
    "http-array": lambda _, servers: HttpPlace(servers.fresh_room(), HttpBody.ARRAY),
}
"""How each place is made in a fresh directory; the servers are started only by the places that ask for one."""

WITH_CURSOR = [name for name in PLACES if not name.startswith(("files", "http"))]
"""The sinks that keep a cursor and an epoch of their own."""
