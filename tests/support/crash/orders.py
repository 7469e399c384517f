"""The pipeline that is crashed: made-up orders through a driver without a JVM into files and SQLite.

Order n is dropped by the steps when 10 divides it, unless it was a dead letter, and refused by the SQLite table when 97
does, until somebody mends the table. A few of those that 10 divides fail in a function over rows, and a few break the
steps for their whole batch, until they come back as dead letters. So every stage has something to do. It runs in a
process of its own; see `tests.support.crash.zygote`.
"""

from __future__ import annotations

import os
import sqlite3
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from holdfast import BatchLimits, Budget, Pipeline, Quotas, rows
from holdfast.capture import Generator
from holdfast.deliver import SinkSpec
from holdfast.disk.files import replace_file
from holdfast.log.restoring import restored_from
from holdfast.model.errors import SourceGap
from holdfast.sinks import Files, Sqlite
from holdfast.testing.driver import LocalProcessor
from tests.support.crash.operator import see_to_dead_letters
from tests.support.crash.reconcile import GIVEN_UP

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.capture import Captured
    from holdfast.model.positions import Position
    from tests.support.crash.watch import Watch

EVENTS = 400
CUT_EVENTS = 100
BATCH = 60
TRANSACTIONS = (3, 7, 1, 90)
READ = 40
"""Less than the largest transaction has, so that one is in the inbox before it has ended."""
INBOX_QUOTA = 60_000
"""Less than all events take, so that the inbox is trimmed and capture has to wait for that."""
FAILING, BREAKING = GIVEN_UP[:2], GIVEN_UP[2:]
"""The orders that fail in a function over rows, and those that break the steps for their whole batch."""


def known(row: dict[str, Any]) -> dict[str, Any]:
    """The row; a function over rows that fails on a few orders until they come back."""
    if int(row["position"]) in FAILING and restored_from(row["headers"]) is None:
        raise KeyError("nobody knows this customer")
    return row


def orders(events: pa.Table) -> pa.Table:
    """What the steps make of the events: their numbers, without those that 10 divides and that were no dead letters."""
    n = events["position"].cast(pa.int64())
    chosen = events.select(["seq", "source", "event_id", "key", "tx_id", "tx_end"]).append_column("n", n)
    came_back = pa.array([restored_from(headers) is not None for headers in events["headers"].to_pylist()], pa.bool_())
    return chosen.filter(pc.or_(came_back, pc.not_equal(pc.subtract(n, pc.multiply(pc.divide(n, 10), 10)), 0)))


def broken(events: pa.Table) -> pa.Table:
    """The same steps, which break on a few orders until they come back."""
    for position, headers in zip(events["position"].to_pylist(), events["headers"].to_pylist(), strict=True):
        if int(position) in BREAKING and restored_from(headers) is None:
            raise ZeroDivisionError("one of the orders divides by zero")
    return orders(events)


class Sipping(Generator):
    """Orders that are appended read by read: there is never more to be had without waiting.

    What is acknowledged they forget for good, and cannot be asked for again. The second half comes once a part of the
    first is acknowledged, so a run has two acknowledgements at least.

    :param memory: the file that says how far they have forgotten.
    """

    def __init__(self, memory: Path, *, events: int, transactions: tuple[int, ...], chunk: int) -> None:
        super().__init__(events=events, transactions=transactions, chunk=chunk)
        self._memory = memory
        self._half = events // 2

    def open(self, after: Position | None) -> None:
        begins, wanted = self._forgotten(), 0 if after is None else int(str(after))
        if wanted < begins:
            raise SourceGap(f"Orders up to {begins} are forgotten, and those behind {wanted} wanted.", remedy="None.")
        super().open(after)

    def read(self, wait: float) -> Captured | None:
        if self._at >= self._half and not self._forgotten():
            time.sleep(wait)
            return None
        return super().read(wait) if wait else None

    def acknowledge(self, position: Position) -> None:
        replace_file(self._memory, str(position))

    def _forgotten(self) -> int:
        return int(self._memory.read_text()) if self._memory.exists() else 0


def prepare(directory: Path) -> None:
    """Make the table, which refuses every 97th order."""
    db = sqlite3.connect(directory / "sink.db")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(
        "CREATE TABLE orders (seq INTEGER, source TEXT, event_id TEXT, key TEXT, tx_id TEXT, tx_end BOOLEAN, n INTEGER)"
    )
    db.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON orders WHEN NEW.n % 97 = 0 "
        "BEGIN SELECT RAISE(ABORT, 'a multiple of 97'); END"
    )
    db.commit()
    db.close()
    descriptor = os.open(directory, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def pipeline(directory: Path, *, events: int = EVENTS, transactions: tuple[int, ...] = TRANSACTIONS) -> Pipeline:
    """The pipeline, with everything it keeps below `directory`."""
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Sipping(directory / "forgotten", events=events, transactions=transactions, chunk=READ))
        .write(
            SinkSpec(name="archive", sink=Files(directory / "files"), max_inflight=3),
            SinkSpec(name="table", sink=Sqlite(directory / "sink.db", table="orders")),
        )
        .batch(BatchLimits(max_events=BATCH, max_wait=timedelta(0)))
        .quotas(Quotas(inbox=INBOX_QUOTA))
        .keep_delivered(0)
        .restarts(Budget(failures=10_000))
    )


def run(directory: Path, watch: Watch, *, make: Callable[[Path], Pipeline] = pipeline, patience: float = 60) -> None:
    """Run the pipeline until everything is delivered, see to the dead letters, and drain it."""
    whole = make(directory)
    whole.start(processor=lambda: LocalProcessor(broken, step=rows(known), hook=watch), hook=watch)
    assert whole.engine.wait(caught_up=True, timeout=patience), whole.status()
    _see_that_the_source_is_acknowledged(whole, patience)
    see_to_dead_letters(whole, directory, patience)
    whole.drain(within=patience)


def _see_that_the_source_is_acknowledged(whole: Pipeline, patience: float) -> None:
    """What is in every sink, the source may forget in the end.

    The newest batch may be dead letters that were redelivered, which say nothing of the source: Spark's newest does.
    """
    newest = whole.engine.ground.outbox.newest()
    assert newest is not None
    deadline = time.monotonic() + patience
    while (known := whole.status().acknowledgements["orders"]).position != newest.positions["orders"]:
        assert time.monotonic() < deadline, known
        time.sleep(0.01)


def enact(directory: Path, watch: Watch) -> None:
    """The scene: make the table if it is not there, and run."""
    if not (directory / "sink.db").exists():
        prepare(directory)
    run(directory, watch)


def enact_cut(directory: Path, watch: Watch) -> None:
    """The same scene with batches of five events, which cut most transactions."""
    if not (directory / "sink.db").exists():
        prepare(directory)
    limits = BatchLimits(max_events=5, max_wait=timedelta(0), respect_source_tx=False)
    run(directory, watch, make=lambda place: pipeline(place, events=CUT_EVENTS).batch(limits))
