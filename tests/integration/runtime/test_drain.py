"""How a run is ended: drained in order and in time, or stopped; and the next start goes on."""

from __future__ import annotations

import fcntl
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.engine_pipelines import SOON, finish, started, stored_cursors, wait_until
from tests.support.engine_world import EVENTS, World

from holdfast import Budget, State
from holdfast.capture import CaptureState
from holdfast.deliver import DeliveryPhase, LaneState
from holdfast.ledger import StopReason, StopRecord
from holdfast.model.errors import CursorMoved, PipelineFailed
from holdfast.model.steps import Step
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from holdfast.deliver import SinkBatch


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class TestDrainWhileASinkIsDown:
    """The archive is down, with batches sent and batches waiting; the table has everything."""

    DEADLINE = 0.5

    def drained(self, world: World) -> StopRecord:
        with started(world.whole):
            world.bring(165, "table", "archive")
            world.archive.down.set()
            world.bring(330, "table")
            wait_until(lambda: self.state(world) is LaneState.FROZEN, "the archive's lane is frozen")
            self.published = world.published()
            began = time.monotonic()
            world.whole.drain(within=self.DEADLINE)
            self.took = time.monotonic() - began
        record = world.whole.engine.stop_record
        assert record is not None
        return record

    @staticmethod
    def state(world: World) -> LaneState:
        return world.whole.status().delivery.lanes["archive"].state

    @pytest.mark.req("M5", "M15")
    def test_every_batch_is_resolved_or_listed(self, world: World) -> None:
        record = self.drained(world)
        (*_, stored) = stored_cursors(world.directory)
        for lane in ("table", "archive"):
            done = range(1, stored.delivered[lane] + 1)
            left = (*record.abandoned.get(lane, ()), *record.remaining.get(lane, ()))
            assert [*done, *left] == self.published
        assert record.reason is StopReason.FORCED
        assert list(record.abandoned) == ["archive"]

    @pytest.mark.req("M5")
    def test_what_is_left_is_on_disk(self, world: World) -> None:
        record = self.drained(world)
        assert stored_cursors(world.directory)[-1].stop == record

    @pytest.mark.req("M16")
    def test_it_ends_when_its_time_is_up(self, world: World) -> None:
        self.drained(world)
        assert self.DEADLINE <= self.took < self.DEADLINE + 3

    @pytest.mark.req("M15", "M20")
    def test_the_next_start_goes_on_from_there(self, world: World) -> None:
        self.drained(world)
        had = list(world.table.taken)
        world.archive.down.clear()
        with started(world.whole):
            world.source.open_to = EVENTS
            finish(world.whole)
        world.check_exact()
        assert world.table.taken == sorted({*had, *world.table.taken})


@pytest.mark.req("M15")
def test_a_drain_of_healthy_sinks_leaves_nothing_in_doubt_and_the_next_start_goes_on(world: World) -> None:
    with started(world.whole):
        world.source.open_to = EVENTS
        wait_until(lambda: len(world.table.taken) >= 2, "it is in full flow")
        record = world.whole.drain()
    assert record is not None
    assert record.reason is StopReason.GRACEFUL
    assert not record.abandoned
    with started(world.whole):
        finish(world.whole)
    world.check_exact()


@pytest.mark.parametrize("manner", ["drained", "stopped"])
def test_what_waits_in_the_inboxes_is_counted_and_processed_after_the_next_start(world: World, manner: str) -> None:
    with started(world.whole):
        world.bring(165, "table", "archive")
        world.whole.pause()
        (reader,) = world.whole.engine.ground.readers.values()
        wait_until(reader.admission_paused, "Spark is given nothing more")
        world.source.open_to = EVENTS
        wait_until(lambda: world.whole.engine.ground.inboxes["orders"].end() == EVENTS, "all events are captured")
        world.whole.drain() if manner == "drained" else world.whole.stop()
    record = world.whole.engine.stop_record
    assert record is not None
    assert record.unprocessed == {"orders": EVENTS - 165}
    assert stored_cursors(world.directory)[-1].stop == record
    with started(world.whole):
        world.whole.resume()
        finish(world.whole)
    world.check_exact()
    assert world.whole.engine.stop_record == StopRecord(StopReason.GRACEFUL)


class Diary:
    """Writes down in which order things end; a batch is computed until the source is closed, and delivered until
    Spark has finished, so each has something to wait for."""

    def __init__(self, world: World) -> None:
        self.steps: list[str] = []
        self.is_owned_at_last_write = False
        self._lock = world.directory / "pipeline" / "owner.lock"
        self._source_closed, self._spark_finished = Event(), Event()
        self.is_computing, self.is_delivering = Event(), Event()
        close = world.source.close

        def noted_close() -> None:
            close()
            self("source.close")

        world.source.close = noted_close  # type: ignore[method-assign]
        world.table.before = self._deliver

    def __call__(self, step: str, /) -> None:
        self.steps.append(step)
        if step == "source.close":
            self._source_closed.set()
        if step == Step.SPARK_FINISH and self.is_computing.is_set():
            self._spark_finished.set()
        if step == Step.CURSOR_WRITTEN:
            self.is_owned_at_last_write = not self.is_free()

    def compute(self, events: pa.Table) -> pa.Table:
        if self.is_delivering.is_set():
            self.is_computing.set()
            assert self._source_closed.wait(SOON)
        return orders(events)

    def is_free(self) -> bool:
        with self._lock.open() as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    def last(self, step: str) -> int:
        return max(number for number, done in enumerate(self.steps) if done == step)

    def _deliver(self, _: SinkBatch) -> None:
        self.is_delivering.set()
        assert self._spark_finished.wait(SOON)


@pytest.mark.req("M15")
def test_a_drain_ends_sources_then_spark_then_lanes_then_cursors_then_the_ownership(world: World) -> None:
    diary = Diary(world)
    with started(world.whole, processor=lambda: LocalProcessor(diary.compute, hook=diary), hook=diary):
        world.source.open_to = 66
        assert diary.is_delivering.wait(SOON)
        world.source.open_to = EVENTS
        assert diary.is_computing.wait(SOON)
        world.whole.drain(within=SOON)
    in_order = [Step.INBOX_INDEXED, "source.close", Step.SPARK_FINISH, Step.SINK_COMMITTED, Step.CURSOR_WRITTEN]
    assert sorted(in_order, key=diary.last) == in_order
    assert diary.is_owned_at_last_write
    assert diary.is_free()


def test_a_stop_that_somebody_asked_for_uses_up_no_restarts(world: World) -> None:
    whole = world.whole.restarts(Budget(failures=0))
    for _ in range(3):
        with started(whole):
            pass
    assert whole.engine.state is State.STOPPED


def test_a_pipeline_that_has_ended_still_tells_where_it_stands(world: World) -> None:
    with started(world.whole):
        world.bring(165, "table", "archive")
        before = world.whole.status()
        world.whole.drain()
    after = world.whole.status()
    assert after.state is State.STOPPED
    assert after.spark.batch_id == before.spark.batch_id
    assert [capture.state for capture in after.captures] == [CaptureState.STOPPED]


@pytest.mark.req("M17")
def test_a_sink_that_breaks_for_good_while_the_run_drains_is_told_and_everything_is_given_up(world: World) -> None:
    is_delivering = Event()

    def break_for_good(_: SinkBatch) -> None:
        is_delivering.set()
        wait_until(lambda: world.whole.status().delivery.phase is DeliveryPhase.DRAINING, "the lanes drain")
        raise CursorMoved("The table is an older copy.", remedy="Start the pipeline again.")

    world.table.before = break_for_good
    with started(world.whole):
        world.source.open_to = EVENTS
        assert is_delivering.wait(SOON)
        with pytest.raises(PipelineFailed, match="The table is an older copy"):
            world.whole.drain()
    assert world.whole.engine.state is State.FAILED
    assert not world.whole.engine.is_open
