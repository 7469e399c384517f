"""A connection to the SQLite file that says what a log contains: transactions, fencing, and what its failures mean.

The tables are the affair of each log. A commit returns after it was synced. Every commit of an owner first asks, in the
same transaction, whether its epoch is still the newest, so an owner that was overtaken while it slept writes nothing.
The file belongs to the processes of one host; a handle must not be carried over a fork.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING

from holdfast.disk.files import identity
from holdfast.disk.sqlite import connect, corrupt, primary_code
from holdfast.log.oserrors import missing
from holdfast.log.sqlite_errors import index_error
from holdfast.model.errors import LogClosed, LogError, LogFenced, LogInDoubt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Index:
    """The index of a log, used by one thread at a time and by one process only.

    :param epoch: of the owner; None for a handle that only reads.
    """

    def __init__(self, path: Path, epoch: int | None = None) -> None:
        self.path = path
        self.is_in_doubt = False
        """Whether a commit failed half-way. Then the handle is of no more use."""
        self._epoch = epoch
        self._opening: int | None = None
        self._lock = RLock()
        self._pid = os.getpid()
        self._is_closed = False
        with self._translated():
            self._connection = connect(path, "ro" if epoch is None else "rwc")
        self._file = identity(path)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for statements that only read."""
        with self._session() as db, self._translated():
            yield db

    @contextmanager
    def committing(self) -> Iterator[sqlite3.Connection]:
        """A transaction of the owner, committed and synced at the end unless what is done in it raises."""
        with self._session() as db:
            with self._translated():
                db.execute("BEGIN IMMEDIATE")
                try:
                    self._refuse_if_fenced(db)
                    yield db
                except BaseException:
                    roll_back(db)
                    raise
            self._commit(db)

    def check_owner(self) -> None:
        """`LogFenced` when there is a newer owner: then what is not found here has a reason."""
        with self.reading() as db:
            self._refuse_if_fenced(db)

    def claim(self, db: sqlite3.Connection) -> None:
        """Become the owner, in a transaction: every handle that was opened before this one is refused from here on."""
        db.execute("UPDATE log SET epoch = ?, opening = opening + 1", (self._epoch,))
        (self._opening,) = db.execute("SELECT opening FROM log").fetchone()

    def fenced(self, why: str) -> LogFenced:
        """The error for an owner that is none any more."""
        return LogFenced(
            f"The owner of epoch {self._epoch} may not write to {self.path} any more: {why}.",
            remedy="Stop this process; the newer owner goes on.",
            path=str(self.path),
            epoch=self._epoch,
        )

    def close(self) -> None:
        """Give up the connection. In a child that inherited it by a fork, leave it to the parent."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._is_closed = True
            self._connection.close()

    @contextmanager
    def _session(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._pid:
            raise self._closed("it was opened by another process and carried over a fork")
        with self._lock:
            if self._is_closed:
                raise self._closed("it was closed")
            if self.is_in_doubt:
                raise self._closed("a commit failed half-way")
            if identity(self.path) != self._file:
                raise missing(self.path, "another file, or none, is in its place")
            yield self._connection

    def _refuse_if_fenced(self, db: sqlite3.Connection) -> None:
        newest, opening = db.execute("SELECT epoch, opening FROM log").fetchone()
        assert self._epoch is not None, "a handle that only reads does not commit"
        if newest > self._epoch:
            raise self.fenced(f"epoch {newest} has taken it over")
        if self._opening not in (None, opening):
            raise self.fenced("it was opened again")

    def _commit(self, db: sqlite3.Connection) -> None:
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            if primary_code(error) == sqlite3.SQLITE_IOERR:
                raise self._doubt(error) from error
            roll_back(db)
            raise index_error(error, self.path) from error
        except BaseException:
            self.is_in_doubt = True
            raise

    def _doubt(self, error: sqlite3.Error) -> LogError:
        """After a failed sync the commit may be in the file, and be found there by the next who opens it."""
        self.is_in_doubt = True
        return LogInDoubt(
            f"The index {self.path} failed while committing ({error}), so the commit may or may not have happened.",
            kept="What was appended before is safe.",
            remedy="Open the log again: it says where it stands.",
            path=str(self.path),
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:  # of a name in the schema, or of SQLite's message about it
            raise index_error(corrupt("it holds text that is not UTF-8"), self.path) from error
        except sqlite3.Error as error:
            raise index_error(error, self.path) from error

    def _closed(self, why: str) -> LogClosed:
        return LogClosed(
            f"The index {self.path} cannot be used through this handle, because {why}.",
            remedy="Open the log again, in the process that uses it.",
            path=str(self.path),
        )


def roll_back(db: sqlite3.Connection) -> None:
    """End a transaction that failed; SQLite may have done it already."""
    with suppress(sqlite3.Error):
        db.execute("ROLLBACK")
