"""An owner that stops itself in the middle of a commit to SQLite, and the successor that takes its pipeline over.

    python -m tests.support.lock_process DIRECTORY EVENTS owner PLACE
    python -m tests.support.lock_process DIRECTORY EVENTS successor

PLACE is the end of the path of the database whose lock the owner keeps. Both say what
`tests.support.local_process` says; the successor also says `log` and every warning.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import TYPE_CHECKING

from holdfast.checkpoint.sql.connection import SqlConnection
from holdfast.disk import sqlite
from holdfast.log.index import Index
from holdfast.sinks.sql.session import Session
from tests.support import local_process
from tests.support.crash.bugs import put

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

COMMITS = 5
"""The owner stops in this commit to the place: it is at work by then."""


def stop_in_a_commit(place: str) -> None:
    """Let this process stop while it holds the write lock of the database whose path ends so."""
    seen = 0

    def stopping(commit: Callable[..., None], path: Callable[[Any], str]) -> Callable[..., None]:
        def stop_then_commit(self: Any, db: Any) -> None:
            nonlocal seen
            if path(self).endswith(place):
                seen += 1
                if seen == COMMITS:
                    os.kill(os.getpid(), signal.SIGSTOP)
            commit(self, db)

        return stop_then_commit

    put(Index, "_commit", stopping(Index._commit, lambda index: str(index.path)))
    put(SqlConnection, "_finish", stopping(SqlConnection._finish, lambda store: str(store._path)))
    put(Session, "_commit", stopping(Session._commit, lambda session: session.place))


class Said(logging.Handler):
    """Prints warnings."""

    def emit(self, record: logging.LogRecord) -> None:
        print(f"log {record.getMessage()}", flush=True)


def main(directory: str, events: str, role: str, place: str = "") -> None:
    """Run the pipeline as its owner, or after it."""
    if role == "owner":
        stop_in_a_commit(place)
        local_process.main(directory, events)
    else:
        put(sqlite, "BUSY_SECONDS", 0.2)  # or else every attempt takes ten seconds
        logging.getLogger("holdfast").addHandler(Said(logging.WARNING))
        local_process.main(directory, events, "fence")


if __name__ == "__main__":
    main(*sys.argv[1:])
