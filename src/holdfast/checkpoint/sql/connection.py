"""Holds the one connection of a SQL store: opens it, guards it, ends its transactions, and names its failures.

What a failure means depends on when it happens: while a transaction is being committed, a lost connection leaves the
outcome unknown; before that, nothing was written.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, ClassVar

from holdfast.checkpoint.contract import CheckpointStore
from holdfast.checkpoint.rules import carried_over_fork, closed
from holdfast.checkpoint.sql.schema import needs_upgrade, upgrade
from holdfast.model.errors import CommitStateUnknown, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checkpoint.sql.schema import Database, Dialect
    from holdfast.model.errors import HoldfastError


class SqlConnection(CheckpointStore):
    """A store's connection, used by one thread at a time and by one process only."""

    _dialect: ClassVar[Dialect]

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._lock = RLock()
        self._pid = os.getpid()
        self._closed = False
        self._connection: Database | None = None

    # What a database brings

    @property
    @abstractmethod
    def _place(self) -> str:
        """How errors name the store, for instance by its path."""

    @abstractmethod
    def _driver_error(self) -> type[Exception]:
        """The root of what the driver raises."""

    @abstractmethod
    def _create(self) -> Database:
        """The first connection; what does not exist yet is made."""

    @abstractmethod
    def _connect(self) -> Database:
        """A connection to what exists: a store that has vanished is never replaced by an empty one."""

    @abstractmethod
    def _translate(self, error: Exception) -> HoldfastError:
        """What a driver's error means before a transaction is being committed."""

    @abstractmethod
    def _leaves_commit_unknown(self, error: Exception) -> bool:
        """Whether a COMMIT that failed with this error may have happened nevertheless."""

    def _is_in_place(self) -> bool:
        """Whether the connection still leads to the place by which the store was opened."""
        return True

    # What a store uses

    def close(self) -> None:
        """Give up the connection. In a child that inherited the store, leave it to the parent."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._closed = True
            self._drop()

    def _open(self) -> None:
        """Connect for the first time, and make or migrate the tables; a store that is refused holds no connection."""
        try:
            with self._translated():
                self._connection = self._create()
                is_old = needs_upgrade(self._connection, self._dialect, self._place)
            if is_old:
                with self._transaction(*self._dialect.lock_schema) as db:
                    upgrade(db, self._dialect, self._place, self._namespace)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _reading(self) -> Iterator[Database]:
        with self._session() as db, self._translated():
            yield db

    @contextmanager
    def _transaction(self, *then: str) -> Iterator[Database]:
        """A transaction that starts with the statements `then`, and is committed unless what is done in it raises."""
        with self._session() as db:
            with self._translated():
                db.execute(self._dialect.begin)
                try:
                    for statement in then:
                        db.execute(statement)
                    yield db
                except BaseException:
                    self._roll_back(db)
                    raise
            self._finish(db)

    @contextmanager
    def _session(self) -> Iterator[Database]:
        if os.getpid() != self._pid:
            raise carried_over_fork(self._place)
        with self._lock:
            if self._closed:
                raise closed(self._place)
            yield self._connected()

    def _connected(self) -> Database:
        if self._connection is not None and not self._is_in_place():
            self._drop()
        if self._connection is None:
            with self._translated():
                self._connection = self._connect()
        return self._connection

    def _finish(self, db: Database) -> None:
        try:
            db.execute("COMMIT")
        except self._driver_error() as error:
            if self._leaves_commit_unknown(error):
                self._drop()
                raise _unknown(self._place, error) from error
            self._roll_back(db)
            raise self._translate(error) from error
        except BaseException:
            self._drop()
            raise

    def _roll_back(self, db: Database) -> None:
        """Leave no transaction behind; a connection that cannot even do that is given up."""
        try:
            db.execute("ROLLBACK")
        except self._driver_error():
            self._drop()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._driver_error() as error:
            meaning = self._translate(error)
            if isinstance(meaning, StoreUnavailable):
                self._drop()
            raise meaning from error

    def _drop(self) -> None:
        """Give up the connection; the next call makes another."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.close()
        except self._driver_error():
            return


def _unknown(where: str, error: Exception) -> CommitStateUnknown:
    return CommitStateUnknown(
        f"{where} failed while committing ({str(error).strip()}), so the commit may or may not have happened.",
        kept="All of it was written, or none.",
        remedy="Read the keys back and compare their versions, then decide whether to commit again.",
        store=where,
    )
