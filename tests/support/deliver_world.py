"""What survives a crash, as simple doubles, and deliveries that live over it one after the other."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from random import Random
from threading import RLock
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.checkpoint.cursors import CURSORS
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.deliver import BreakerPolicy, Delivery, DeliverySettings, RetryPolicy, SinkSpec
from holdfast.model.positions import Lsn
from holdfast.model.steps import Step, StepHook, no_hook
from holdfast.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.deliver import DeliveryStatus, LaneStatus, Sink
    from holdfast.ledger import Cursors, Policy
    from holdfast.log import DeadLetterEntry
    from holdfast.model.positions import Position

QUICK = RetryPolicy(base=0.1, cap=1.0, attempts=4, elapsed=60.0)
BREAKER = BreakerPolicy(window=10, minimum=5, failure_rate=0.5, cool_down=10.0)


@dataclass(frozen=True)
class Batch:
    """A published batch of the double."""

    oseq: int
    rows: int
    positions: Mapping[str, Position]


class MemoryOutbox:
    """An outbox whose batches are gone when they are released."""

    uuid = "outbox-1"

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}
        self.published: list[Batch] = []
        self.last = 0
        self.forgotten = 0
        self.reads: list[int] = []
        self.hook: StepHook = no_hook
        self._lock = RLock()

    def add(self, table: pa.Table) -> Batch:
        with self._lock:
            self.last += 1
            batch = Batch(self.last, table.num_rows, {"orders": Lsn(self.last * 100)})
            self.tables[self.last] = table
            self.published.append(batch)
            return batch

    def last_oseq(self) -> int:
        return self.last

    def trimmed(self) -> int:
        return self.forgotten

    def batches(self, after: int = 0) -> Sequence[Batch]:
        with self._lock:
            return [batch for batch in self.published if batch.oseq > max(after, self.forgotten)]

    def positions_at(self, oseq: int) -> Mapping[str, Position]:
        with self._lock:
            return next((batch.positions for batch in self.published if batch.oseq == oseq), {})

    def read(self, oseq: int) -> pa.Table:
        with self._lock:
            self.reads.append(oseq)
            return self.tables[oseq]

    def release(self, through: int) -> None:
        self.hook(Step.OUTBOX_TRIM)
        with self._lock:
            self.forgotten = max(self.forgotten, through)
            for oseq in [oseq for oseq in self.tables if oseq <= self.forgotten]:
                del self.tables[oseq]
        self.hook(Step.OUTBOX_TRIMMED)


class MemoryDeadLetters:
    """Dead letters in the order in which they were recorded first."""

    def __init__(self) -> None:
        self.recorded: dict[str, DeadLetterEntry] = {}
        self.hook: StepHook = no_hook
        self.failing: Exception | None = None
        self._lock = RLock()

    def put(self, entries: Sequence[DeadLetterEntry]) -> int:
        if self.failing is not None:
            raise self.failing
        self.hook(Step.DEAD_LETTER_WRITE)
        with self._lock:
            before = len(self.recorded)
            for entry in entries:
                self.recorded.setdefault(entry.entry_id, entry)
            new = len(self.recorded) - before
        self.hook(Step.DEAD_LETTER_WRITTEN)
        return new

    def rejected(self, stage: str, oseq: int) -> frozenset[int]:
        with self._lock:
            return frozenset(e.ordinal for e in self.recorded.values() if (e.stage, e.oseq) == (stage, oseq))

    def refused(self, stage: str, oseq: int) -> frozenset[int]:
        return frozenset()

    def places(self, stage: str) -> list[tuple[int, int]]:
        with self._lock:
            return sorted((e.oseq, e.ordinal) for e in self.recorded.values() if e.stage == stage)


def rows(oseq: int, count: int = 3, **columns: Sequence[object]) -> pa.Table:
    """A table whose rows say where they belong."""
    named: dict[str, Sequence[object]] = {"id": [f"{oseq}-{at}" for at in range(count)]}
    return pa.table(named | columns)


@dataclass
class World:
    """Everything that is durable, and the clock."""

    outbox: MemoryOutbox = field(default_factory=MemoryOutbox)
    dead: MemoryDeadLetters = field(default_factory=MemoryDeadLetters)
    shelf: Shelf = field(default_factory=Shelf)
    clock: ManualClock = field(default_factory=ManualClock)
    told: list[Mapping[str, Position]] = field(default_factory=list)
    """The positions that were committed, in order."""
    lives: list[Delivery] = field(default_factory=list)

    def publish(self, count: int = 1, *, size: int = 3, to: Delivery | None = None) -> None:
        for _ in range(count):
            batch = self.outbox.add(rows(self.outbox.last + 1, size))
            if to is not None:
                to.published(batch)

    def delivery(
        self,
        *sinks: SinkSpec,
        policy: Policy | None = None,
        hook: StepHook = no_hook,
        store: CheckpointStore | None = None,
        settings: DeliverySettings | None = None,
        seed: int = 0,
        committed: Callable[[Mapping[str, Position]], None] | None = None,
        captured_at: Callable[[int], datetime | None] = lambda _: None,
    ) -> Delivery:
        """A new life over what is durable; it is not started yet."""
        self.outbox.hook = self.dead.hook = hook
        store = store or MemoryStore(self.shelf)
        delivery = Delivery(
            pipeline="shop",
            outbox=self.outbox,
            dead_letters=self.dead,
            store=store,
            epoch=store.take_over(),
            sources=["orders"],
            sinks=sinks,
            policy=policy,
            committed=committed or self.told.append,
            captured_at=captured_at,
            hook=hook,
            clock=self.clock,
            random=Random(seed),
            settings=settings,
        )
        self.lives.append(delivery)
        return delivery

    def running(self, *sinks: SinkSpec, **how: object) -> Delivery:
        """A new life that has begun."""
        delivery = self.delivery(*sinks, **how)  # type: ignore[arg-type]
        delivery.start()
        return delivery

    def on_disk(self) -> Cursors:
        cursors = MemoryStore(self.shelf).get(CURSORS)
        assert cursors is not None
        return cursors

    def close(self) -> None:
        """End every life; no thread stays."""
        for delivery in self.lives:
            delivery.abandon()


def spec(name: str, sink: Sink, **how: object) -> SinkSpec:
    """A sink with short pauses."""
    return SinkSpec(name, sink, **({"retry": QUICK, "breaker": BREAKER} | how))  # type: ignore[arg-type]


def lane(delivery: Delivery, name: str = "a") -> LaneStatus:
    return delivery.status().lanes[name]


def eventually(delivery: Delivery, holds: Callable[[DeliveryStatus], bool], *, limit: float = 20.0) -> DeliveryStatus:
    """Wait, in real time, for what threads do by themselves while the clock stands still."""
    until = time.monotonic() + limit
    core = delivery._core
    with core.lock:
        while not holds(delivery.status()):
            assert time.monotonic() < until, f"it does not hold: {delivery.status()}"
            core.news.wait(0.05)
        return delivery.status()


def all_on_disk(status: DeliveryStatus) -> bool:
    """Whether every lane has everything, and that is durable."""
    return status.is_durable and all(lane.cursor == status.newest for lane in status.lanes.values())
