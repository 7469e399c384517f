"""Pipelines of made-up orders for tests of the engine: a source that is tapped, sinks that are watched and fail."""

from __future__ import annotations

import time
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING

import pytest

from holdfast import Until
from holdfast.capture import Generator
from holdfast.checkpoint import CURSORS, SqliteStore
from holdfast.deliver import BreakerPolicy, RetryPolicy, Sink, SinkSpec, Tier
from holdfast.model.errors import Transient
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast import Accept, Pipeline
    from holdfast.capture import Captured
    from holdfast.deliver import LaneIdentity, SinkBatch
    from holdfast.ledger import Cursors
    from holdfast.model.positions import Position
    from holdfast.model.steps import StepHook
    from holdfast.runtime.processor import Processor

SOON = 60.0
"""Seconds after which what should have happened never will. A disk that others use too has let thirty batches, which
take two seconds alone, wait for forty."""


def wait_until(holds: Callable[[], bool], what: str, *, within: float = SOON) -> None:
    """Wait until something holds, and fail when it does not in time."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {within} s: {what}")
        time.sleep(0.01)


START = datetime(2026, 1, 1, tzinfo=UTC)
"""When the orders of a tap begin."""


class Tap(Generator):
    """Orders that come as far as the tap is open, with the same times on every run."""

    def __init__(self, events: int, *, open_to: int = 0, name: str = "orders") -> None:
        super().__init__(name, events=events, transactions=(3, 7, 1), chunk=60, start=START)
        self.open_to = open_to
        self.told: list[Position] = []

    def acknowledge(self, position: Position) -> None:
        self.told.append(position)

    def _due(self) -> int:
        return min(super()._due(), self.open_to - self._at)


class Piecemeal(Generator):
    """Orders of which every read is an append of its own, and so a chunk."""

    def read(self, wait: float) -> Captured | None:
        return super().read(wait) if wait else None


class Watched(Sink):
    """A real sink, of which is known what it was brought; while it is down, everything asked of it fails.

    :param before: called with every batch before it is delivered; what it raises, `deliver` raises.
    :param after: called with every batch after it was delivered; what it raises, `deliver` raises.
    """

    kind = "watched"
    tier = Tier.EXACTLY_ONCE

    def __init__(
        self,
        sink: Sink,
        *,
        before: Callable[[SinkBatch], None] = lambda _: None,
        after: Callable[[SinkBatch], None] = lambda _: None,
    ) -> None:
        self.sink = sink
        self.kind, self.tier, self.ordering = sink.kind, sink.tier, sink.ordering  # type: ignore[misc]
        self.before = before
        self.after = after
        self.down = Event()
        self.asked = 0
        """How often a batch was brought, failures included."""
        self.taken: list[int] = []
        """Every batch that was taken, in the order of the answers."""

    def open(self, identity: LaneIdentity) -> None:
        self._fail_while_down()
        self.sink.open(identity)

    def cursor(self) -> int | None:
        self._fail_while_down()
        return self.sink.cursor()

    def deliver(self, batch: SinkBatch) -> None:
        self.asked += 1
        self._fail_while_down()
        self.before(batch)
        self.sink.deliver(batch)
        self.taken.append(batch.oseq)
        self.after(batch)

    def probe(self, batch: SinkBatch) -> None:
        self._fail_while_down()
        self.sink.probe(batch)

    def close(self) -> None:
        self.sink.close()

    def _fail_while_down(self) -> None:
        if self.down.is_set():
            raise Transient("The sink is down.", remedy="Wait until it is up.")


def impatient(name: str, sink: Sink, *, required: bool = True, max_inflight: int = 1) -> SinkSpec:
    """A lane whose retry budget is soon used up, and that tries again soon after."""
    return SinkSpec(
        name=name,
        sink=sink,
        required=required,
        max_inflight=max_inflight,
        retry=RetryPolicy(base=0.01, cap=0.02, attempts=3),
        breaker=BreakerPolicy(cool_down=0.1),
    )


@contextmanager
def started(
    whole: Pipeline,
    *,
    processor: Callable[[], Processor] | None = lambda: LocalProcessor(orders),
    **start: Accept | StepHook | Until,
) -> Iterator[Pipeline]:
    """A pipeline that is started, and stopped at the end if nobody did; in Spark when the processor is None."""
    whole.start(processor=processor, **start)  # type: ignore[arg-type]
    try:
        yield whole
    finally:
        if whole.engine.is_open:
            whole.stop()


def finish(whole: Pipeline, *, within: float = SOON) -> None:
    """Wait until everything is delivered, and drain."""
    assert whole.wait(until=Until.CAUGHT_UP, timeout=within), whole.status()
    whole.drain()


def stored_cursors(directory: Path) -> list[Cursors]:
    """Every version of the cursors that the store of `directory / "pipeline"` still has, oldest first."""
    with SqliteStore(directory / "pipeline" / "checkpoints.db") as store:
        versions = [store.get_version(CURSORS.name, known.number) for known in store.versions(CURSORS.name)]
        return [CURSORS.codec.decode(version.payload) for version in versions]
