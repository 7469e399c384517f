"""One lane and its sink: attempts, pauses, and what each kind of failure leads to."""

from __future__ import annotations

import pytest
from tests.support.deliver_faults import Errors, moved, throttled, transient, unknown
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import DeliveryPhase, LaneState
from holdfast.model.errors import PipelineFailed
from holdfast.testing import RecordingSink


@pytest.mark.req("M19")
def test_batches_arrive_in_order_without_time_passing(world: World) -> None:
    world.publish(3)
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    world.publish(2, to=delivery)
    eventually(delivery, all_on_disk)
    assert sink.vault.values("id") == [f"{oseq}-{at}" for oseq in range(1, 6) for at in range(3)]


def test_a_passing_failure_is_retried_after_a_pause(world: World) -> None:
    world.publish(2)
    sink = RecordingSink(before=Errors(transient(), transient()))
    delivery = world.running(spec("a", sink))
    world.clock.wait_for_sleepers()
    status = lane(delivery)
    assert (status.state, status.attempts, status.cursor, status.in_flight) == (LaneState.RETRYING, 1, 0, 1)
    assert status.last_error is not None
    assert status.last_error.code == "HF-401"
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1, 2]
    assert lane(delivery).state is LaneState.RUNNING


def test_a_sink_that_throttles_is_left_alone_for_as_long_as_it_asked(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(throttled(25)))
    delivery = world.running(spec("a", sink))
    world.clock.wait_for_sleepers()
    world.clock.advance(24.9)
    world.clock.wait_for_sleepers()
    assert len(sink.calls.delivered) == 1
    world.clock.advance(0.2)
    eventually(delivery, all_on_disk)


@pytest.mark.req("M19")
def test_a_stop_ends_a_pause_at_once(world: World) -> None:
    world.publish(1)
    delivery = world.running(spec("a", RecordingSink(before=Errors(throttled(50)))))
    world.clock.wait_for_sleepers()
    record = delivery.stop()
    assert record.abandoned == {"a": (1,)}
    assert world.clock.monotonic() == 0


@pytest.mark.parametrize("was_written", [True, False])
def test_when_nobody_knows_the_sink_is_asked(world: World, was_written: bool) -> None:
    world.publish(2)
    errors = Errors(unknown())
    sink = RecordingSink(after=errors) if was_written else RecordingSink(before=errors)
    delivery = world.running(spec("a", sink))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1, 2]
    assert [oseq for oseq, _ in sink.calls.delivered] == ([1, 2] if was_written else [1, 1, 2])


def test_when_nobody_knows_and_the_sink_keeps_no_cursor_the_batch_is_sent_again(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(keeps_cursor=False, after=Errors(unknown()))
    delivery = world.running(spec("a", sink))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1, 1]


def test_a_sink_that_cannot_say_what_it_has_is_asked_again_later(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(after=Errors(unknown()))
    cursor, failures = sink.cursor, [transient()]
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)

    def fail_once() -> int | None:
        if failures:
            raise failures.pop()
        return cursor()

    sink.after, sink.cursor = Errors(unknown()), fail_once  # type: ignore[method-assign]
    world.publish(1, to=delivery)
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1, 2]


@pytest.mark.req("M17")
def test_a_required_sink_whose_cursor_moved_fails_the_pipeline_for_good(world: World) -> None:
    world.publish(2)
    sink = RecordingSink(before=Errors(moved()))
    delivery = world.running(spec("a", sink))
    status = eventually(delivery, lambda status: status.phase is DeliveryPhase.FAILED)
    assert "older copy" in (status.failure or "")
    assert status.lanes["a"].state is LaneState.STOPPED
    with pytest.raises(PipelineFailed):
        world.publish(1, to=delivery)
    delivery.stop()
    assert delivery.status().phase is DeliveryPhase.FAILED
    assert sink.vault.batches == []


def test_an_optional_sink_whose_cursor_moved_stops_its_lane_only(world: World) -> None:
    world.publish(2)
    well = RecordingSink()
    delivery = world.running(spec("a", well), spec("b", RecordingSink(before=Errors(moved())), required=False))
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].state is LaneState.STOPPED)
    status = eventually(delivery, lambda status: status.lanes["a"].cursor == 4 and status.is_durable)
    assert status.phase is DeliveryPhase.RUNNING
    assert status.lanes["b"].cursor == 0
    assert "older copy" in (status.lanes["b"].stopped or "")


@pytest.mark.req("D3")
def test_a_sink_that_a_newer_owner_took_stops_everything(world: World) -> None:
    world.publish(1)
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    sink.vault.epoch += 1
    world.publish(1, to=delivery)
    status = eventually(delivery, lambda status: status.phase is DeliveryPhase.FENCED)
    assert status.lanes["a"].state is LaneState.FENCED
    assert sink.vault.batches == [1]
    delivery.stop()
    assert world.on_disk().stop is None, "a fenced owner writes nothing, not even how it ended"


def test_a_sink_that_went_back_while_we_write_stops_its_lane(world: World) -> None:
    world.publish(2)
    sink = RecordingSink()
    delivery = world.running(spec("a", sink, required=False), spec("b", RecordingSink()))
    eventually(delivery, all_on_disk)
    sink.vault.cursor = 0
    sink.before = Errors(unknown())
    world.publish(1, to=delivery)
    status = eventually(delivery, lambda status: status.lanes["a"].state is LaneState.STOPPED)
    assert "restored from an older copy" in (status.lanes["a"].stopped or "")


def test_a_batch_that_cannot_be_read_stops_the_lane_and_blames_no_row(world: World) -> None:
    world.publish(1)
    del world.outbox.tables[1]
    delivery = world.running(spec("a", RecordingSink()))
    status = eventually(delivery, lambda status: status.phase is DeliveryPhase.FAILED)
    assert status.lanes["a"].cursor == 0
    assert world.dead.recorded == {}


def test_a_batch_without_rows_is_delivered_too(world: World) -> None:
    world.publish(1, size=0)
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert (sink.vault.batches, sink.vault.cursor) == ([1], 1)
