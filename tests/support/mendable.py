"""A running pipeline of orders whose table refuses some rows, and whose step gives some events up, until it is mended.

No step of a driver without a JVM writes dead letters by itself: the test puts them, for the events that the step left
out. The step lets an event pass that has been a dead letter.
"""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast import BatchLimits, Budget, Files, Pipeline, Sqlite
from holdfast.control import Belongings, DeadLetters
from holdfast.log import InboxReader
from holdfast.log.restoring import restored_from
from tests.support.control_world import of_step
from tests.support.crash.reconcile import file_numbers
from tests.support.engine_pipelines import Tap, impatient, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from holdfast.deliver import Sink
    from holdfast.log import DeadLetterLimits
    from holdfast.sinks.sql.mode import Mode


class Mendable:
    """Orders into a table and files.

    :param poison: the orders that the step gives up.
    :param refused: a condition on `NEW.n`; the table refuses such rows until it is mended.
    :param wrap: puts something around the sink of the table.
    """

    def __init__(
        self,
        directory: Path,
        events: int,
        *,
        poison: Collection[int] = (),
        refused: str = "false",
        mode: Mode = "append",
        limits: DeadLetterLimits | None = None,
        wrap: Callable[[Sink], Sink] = lambda sink: sink,
    ) -> None:
        self.directory = directory
        self.source = Tap(events)
        self._poison = pa.array(list(poison), pa.int64())
        self._make_table(refused, "PRIMARY KEY" if mode != "append" else "")
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(
                impatient("table", wrap(Sqlite(directory / "sink.db", table="orders", mode=mode))),
                impatient("archive", Files(directory / "files"), max_inflight=2),
            )
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .restarts(Budget(failures=0))
        )
        if limits is not None:
            self.whole = self.whole.dead_letters(limits)

    def step(self, events: pa.Table) -> pa.Table:
        """The orders with their numbers and keys, but for those that are given up."""
        n = events["position"].cast(pa.int64())
        came_back = [restored_from(headers) is not None for headers in events["headers"].to_pylist()]
        passes = pc.or_(pc.invert(pc.is_in(n, value_set=self._poison)), pa.array(came_back))
        return events.select(["seq", "source", "event_id", "key"]).append_column("n", n).filter(passes)

    def bring(self, events: int) -> None:
        """Let so many orders come, and wait until both sinks have what they take of them."""
        self.source.open_to = events
        wait_until(lambda: self.has_read(events) and self.is_delivered(), f"{events} events are delivered")

    def has_read(self, events: int) -> bool:
        """Whether the step has seen so many events of the inbox."""
        newest = self.whole.engine.ground.outbox.newest()
        return newest is not None and sum(newest.ends.values()) >= events

    def is_delivered(self) -> bool:
        """Whether everything that is in the inbox has reached the sinks."""
        ground = self.whole.engine.ground
        return self.has_read(ground.inboxes["orders"].end()) and self.whole.engine.delivery.is_caught_up()

    @property
    def letters(self) -> DeadLetters:
        """The dead letters as an operator of the running pipeline sees them."""
        return DeadLetters(Belongings.of(self.whole.engine))

    def give_up(self, orders: Iterable[int]) -> None:
        """What a step does about events that it cannot process."""
        with InboxReader.open(self.directory / "pipeline" / "inbox" / "orders") as reader:
            events = [pa.Table.from_batches(reader.read(n - 1, n)) for n in orders]
        self.whole.engine.ground.dead_letters.put([of_step(event) for event in events])

    def mend_table(self) -> None:
        """From now on the table takes every row."""
        with self._table() as db:
            db.execute("DROP TRIGGER refuse")

    def table(self) -> list[int]:
        """The orders in the table, in the order in which they were written."""
        with self._table() as db:
            return [n for (n,) in db.execute("SELECT n FROM orders ORDER BY rowid")]

    def files(self) -> list[int]:
        """The orders in the files."""
        return file_numbers(self.directory / "files")

    def _make_table(self, refused: str, primary: str) -> None:
        with self._table() as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute(f"CREATE TABLE orders (seq INTEGER, source TEXT, event_id TEXT, key TEXT {primary}, n INTEGER)")
            db.execute(
                f"CREATE TRIGGER refuse BEFORE INSERT ON orders WHEN {refused} "
                "BEGIN SELECT RAISE(ABORT, 'not this one'); END"
            )

    def _table(self) -> _Database:
        return _Database(self.directory / "sink.db")


class _Database:
    """A connection that commits and is closed at the end of a `with`."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, timeout=20)

    def __enter__(self) -> sqlite3.Connection:
        return self._db

    def __exit__(self, *_: object) -> None:
        self._db.commit()
        self._db.close()
