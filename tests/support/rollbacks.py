"""A pipeline without a JVM whose sinks are of every kind that matters to a rollback, and what they hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import BatchLimits, Files, Generator, Pipeline, SinkSpec, Sqlite, Until, Upsert
from holdfast.model.steps import StepHook, no_hook
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import file_numbers

if TYPE_CHECKING:
    from holdfast.testing.driver import Transform

EVENTS, BATCH = 240, 40
PASSED = [n for n in range(1, EVENTS + 1) if n % 10]
COLUMNS = "seq INTEGER, source TEXT, event_id TEXT, key TEXT, tx_id TEXT, tx_end BOOLEAN, n INTEGER"


def pipeline(directory: Path, *, events: int = EVENTS, chunk: int = 40, kind: type[Generator] = Generator) -> Pipeline:
    """Orders to files, to a table whose rows say which batch they came with, to one whose rows do not, and to one row
    an order.
    """
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(kind(events=events, transactions=(3, 7, 1), chunk=chunk))
        .write(
            SinkSpec(name="archive", sink=Files(directory / "files"), max_inflight=3),
            SinkSpec(name="tagged", sink=Sqlite(directory / "sink.db", table="tagged")),
            SinkSpec(name="plain", sink=Sqlite(directory / "sink.db", table="plain")),
            SinkSpec(name="latest", sink=Sqlite(directory / "sink.db", table="latest", mode=Upsert(key=["n"]))),
        )
        .batch(BatchLimits(max_events=BATCH, max_wait=timedelta(0)))
    )


def prepare(directory: Path) -> None:
    """Make the table whose rows are tagged."""
    with closing(sqlite3.connect(directory / "sink.db")) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"CREATE TABLE IF NOT EXISTS tagged ({COLUMNS}, _holdfast_batch TEXT NOT NULL)")
        db.commit()


def run(whole: Pipeline, *, transform: Transform = orders, hook: StepHook = no_hook, patience: float = 60) -> None:
    """Run to the end of the source, and drain."""
    whole.start(processor=lambda: LocalProcessor(transform, hook=hook), hook=hook)
    assert whole.wait(until=Until.CAUGHT_UP, timeout=patience), whole.status()
    whole.drain()


def held(directory: Path) -> dict[str, list[int]]:
    """The orders that each sink holds, in the order in which they lie there."""
    with closing(sqlite3.connect(directory / "sink.db")) as db:
        tables = {
            name: [n for (n,) in db.execute(f"SELECT n FROM {name} ORDER BY rowid")] for name in ("tagged", "plain")
        }
        tables["latest"] = [n for (n,) in db.execute("SELECT n FROM latest ORDER BY n")]
    return {"archive": file_numbers(directory / "files"), **tables}
