"""The checkpoint stores under test, each described by the few things that differ between them.

A backend stands for one place where checkpoints are kept. `open` gives a handle on it, and again another handle on the
same data, as a second process would have. To add a backend: write a class with these two methods and a line in
`BACKENDS`; the whole contract suite then runs against it.
"""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.model.clock import utc_now
from tests.support.damage import flip, flip_in_files, flip_in_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import obstore.store

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.model.clock import Clock
    from tests.support.servers import Servers


class Backend(Protocol):
    """One place where checkpoints are kept."""

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        """A new handle on the data, as another process would open it."""

    def tamper(self, key: str, version: int) -> None:
        """Flip one byte of the stored payload of a version, behind the store's back."""


@dataclass
class MemoryBackend:
    """Several stores over one shelf."""

    shelf: Shelf = field(default_factory=Shelf)

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        return MemoryStore(self.shelf, clock=clock)

    def tamper(self, key: str, version: int) -> None:
        kept = self.shelf.kept[key][version]
        self.shelf.kept[key][version] = Kept(kept.version, replace(kept.sealed, data=flip(kept.sealed.data)))


@dataclass
class SqliteBackend:
    """Several connections to one file."""

    path: Path

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        from holdfast.checkpoint.sqlite import SqliteStore

        return SqliteStore(self.path, clock=clock)

    def tamper(self, key: str, version: int) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            where = (key, version)
            row = db.execute("SELECT payload FROM holdfast_versions WHERE key = ? AND version = ?", where).fetchone()
            statement = "UPDATE holdfast_versions SET payload = ? WHERE key = ? AND version = ?"
            db.execute(statement, (flip(row[0]), *where))


@dataclass
class PostgresBackend:
    """Several connections to one namespace of a server."""

    dsn: str
    namespace: str = field(default_factory=lambda: f"test-{uuid.uuid4().hex}")

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        from holdfast.checkpoint.postgres import PostgresStore

        return PostgresStore(self.dsn, namespace=self.namespace, clock=clock)

    def tamper(self, key: str, version: int) -> None:
        import psycopg

        where = (self.namespace, key, version)
        with psycopg.connect(self.dsn) as db:
            condition = "namespace = %s AND key = %s AND version = %s"
            row = db.execute(f"SELECT payload FROM holdfast_versions WHERE {condition}", where).fetchone()
            assert row is not None
            db.execute(f"UPDATE holdfast_versions SET payload = %s WHERE {condition}", (flip(row[0]), *where))


@dataclass
class FileBackend:
    """Several stores over one directory."""

    path: Path

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        from holdfast.checkpoint.file import FileStore

        return FileStore(self.path, clock=clock)

    def tamper(self, key: str, version: int) -> None:
        with self.open() as store:
            payload = store.get_version(key, version).payload
        flip_in_files(self.path, payload)


@dataclass
class ObjectBackend:
    """Several stores over one bucket or directory of objects."""

    connect: Callable[[], obstore.store.ObjectStore]
    prefix: str = "pipelines/orders"

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        from holdfast.checkpoint.objects import ObjectStore

        return ObjectStore(self.connect(), self.prefix, clock=clock)

    def tamper(self, key: str, version: int) -> None:
        with self.open() as store:
            payload = store.get_version(key, version).payload
        flip_in_objects(self.connect(), self.prefix, payload)


def _file(path: Path, _: Servers) -> Backend:
    return FileBackend(path / "checkpoints")


def _local_objects(path: Path, _: Servers) -> Backend:
    from obstore.store import LocalStore

    root = path / "objects"
    root.mkdir()
    return ObjectBackend(partial(LocalStore, root))


def _s3_objects(_: Path, servers: Servers) -> Backend:
    bucket = servers.fresh_bucket()
    return ObjectBackend(bucket.connect)


BACKENDS: Mapping[str, Callable[[Path, Servers], Backend]] = {
    "memory": lambda path, servers: MemoryBackend(),
    "sqlite": lambda path, servers: SqliteBackend(path / "checkpoints.db"),
    "postgres": lambda path, servers: PostgresBackend(servers.postgres()),
    "file": _file,
    "object-local": _local_objects,
    "object-s3": _s3_objects,
}
"""How each backend is made in a fresh directory; the servers are started only by the backends that ask for one."""

WITHOUT_SERVER = ("memory", "sqlite", "file")
"""Those fast enough for hundreds of examples."""
