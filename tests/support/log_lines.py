"""Pipelines of log lines that run without a JVM: from files into a table of SQLite, read from outside with sqlite3.

python -m tests.support.log_lines DIRECTORY < lines
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast import BatchLimits, Budget, LogFiles, Pipeline, Sqlite, Stdin, Until
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from holdfast.capture import Source


def lines(events: pa.Table) -> pa.Table:
    """What the steps make of the events: the lines as text."""
    text = pc.cast(events["payload"], pa.string())
    return events.select(["seq", "source", "event_id"]).append_column("line", text)


def pipeline(directory: Path, *sources: Source) -> Pipeline:
    """Lines into the table `lines` of `sink.db`."""
    return (
        Pipeline("lines", directory=directory / "pipeline")
        .read(*sources)
        .write(Sqlite(directory / "sink.db", table="lines"))
        .batch(BatchLimits(max_events=1000, max_wait=timedelta(0)))
        .restarts(Budget(failures=100_000))
    )


def table_lines(directory: Path, *, like: str = "%") -> list[str]:
    """The lines in the table, in the order in which they were written."""
    path = directory / "sink.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(path, timeout=30)) as db:
        try:
            return [line for (line,) in db.execute("SELECT line FROM lines WHERE line LIKE ? ORDER BY rowid", (like,))]
        except sqlite3.OperationalError:
            return []  # the table is not there yet


def follow_until_killed(directory: str, started: Connection) -> None:
    """The pipeline as a process of its own: it says when it runs, and runs for ever."""
    whole = pipeline(Path(directory), LogFiles(Path(directory) / "logs" / "*.log*", idle=60.0, forget_after=3.0))
    whole.start(processor=lambda: LocalProcessor(lines))
    started.send_bytes(b"started")
    whole.wait()


def main(directory: str) -> None:
    """Lines from standard input, until it ends and all of them are delivered."""
    whole = pipeline(Path(directory), Stdin())
    whole.run(until=Until.CAUGHT_UP, processor=lambda: LocalProcessor(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
