"""Holds a sink's one connection: makes it again when it was lost, ends its transactions, and names its failures.

What a failure means depends on when it happens. While a transaction is being committed, a lost connection leaves the
outcome unknown; before that, nothing was written. Knows nothing of rows or cursors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from holdfast.model.errors import CommitUnknown, Fatal, Transient

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from holdfast.model.errors import DeliveryError


class Result(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows."""


class Database(Protocol):
    """A connection that takes `?1` for a parameter."""

    def execute(self, sql: str, parameters: Sequence[str | int] = (), /) -> Result:
        """Run one statement."""

    def close(self) -> None:
        """Give the connection up."""


Connection = TypeVar("Connection", bound=Database)


class Session(ABC, Generic[Connection]):
    """A connection to the place of a sink, used by one thread at a time."""

    begin: str
    """The statement that starts a transaction."""

    def __init__(self, place: str) -> None:
        self.place = place
        """How errors name the sink."""
        self._connection: Connection | None = None

    # What a database brings

    @abstractmethod
    def driver_error(self) -> type[Exception]:
        """The root of what the driver raises."""

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection."""

    @abstractmethod
    def meaning(self, error: Exception) -> DeliveryError:
        """What a driver's error means before a transaction is being committed."""

    @abstractmethod
    def leaves_commit_unknown(self, error: Exception) -> bool:
        """Whether a COMMIT that failed with this error may have happened nevertheless."""

    def is_in_place(self) -> bool:
        """Whether the connection still leads to the place by which it was made."""
        return True

    def exists(self) -> bool:
        """Whether the place is there before anybody connects to it."""
        return True

    # What a sink uses

    def close(self) -> None:
        """Give up the connection, and forget what was known of the place."""
        self.drop()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """The connection, outside a transaction."""
        db = self._connected()
        with self._translated():
            yield db

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction that is committed, unless what is done in it raises."""
        with self._begun() as db:
            yield db
        self._commit(db)

    @contextmanager
    def trial(self) -> Iterator[Connection]:
        """A transaction of which nothing stays."""
        with self._begun() as db:
            yield db
            self._roll_back(db)

    def drop(self) -> None:
        """Give up the connection; the next use makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(self.driver_error()):
                connection.close()

    @contextmanager
    def _begun(self) -> Iterator[Connection]:
        db = self._connected()
        with self._translated():
            db.execute(self.begin)
            try:
                yield db
            except BaseException:
                self._roll_back(db)
                raise

    def _connected(self) -> Connection:
        if self._connection is not None and not self.is_in_place():
            self.drop()
        if self._connection is None:
            with self._translated():
                self._connection = self.connect()
        return self._connection

    def _commit(self, db: Connection) -> None:
        try:
            db.execute("COMMIT")
        except self.driver_error() as error:
            if self.leaves_commit_unknown(error):
                self.drop()
                raise self._unknown(error) from error
            self._roll_back(db)
            raise self.meaning(error) from error
        except BaseException:
            self.drop()
            raise

    def _roll_back(self, db: Connection) -> None:
        """Leave no transaction behind; a connection that cannot even do that is given up."""
        try:
            db.execute("ROLLBACK")
        except self.driver_error():
            self.drop()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self.driver_error() as error:
            meaning = self.meaning(error)
            if isinstance(meaning, Transient | Fatal):  # SQLite falls back to reading only, and would stay so
                self.drop()
            raise meaning from error

    def _unknown(self, error: Exception) -> CommitUnknown:
        return CommitUnknown(
            f"{self.place} was lost while a batch was being committed ({str(error).strip()}).",
            kept="Either the whole batch and its cursor are there or nothing of them.",
            remedy="The sink's own cursor is read back before anything is sent again.",
        )
