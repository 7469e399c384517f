"""A sink that is down for longer than every budget: its lane freezes, says so, and catches up by itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.support.deliver_faults import Doors, Errors, fatal, throttled, transient, unknown
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import BreakerPolicy, BreakerState, DeliveryPhase, LaneState, OnExhausted, RetryPolicy
from holdfast.ledger import Required
from holdfast.testing import ConcurrentSink, RecordingSink

if TYPE_CHECKING:
    from holdfast.deliver import SinkBatch

ONCE = RetryPolicy(base=0.1, cap=1.0, attempts=1)


@pytest.mark.req("D17")
def test_an_outage_longer_than_every_budget_freezes_the_lane_and_it_catches_up_exactly(world: World) -> None:
    sink, other = RecordingSink(), RecordingSink()
    delivery = world.running(spec("a", sink), spec("b", other), policy=Required())
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    sink.down = transient()
    world.publish(5, to=delivery)
    world.clock.run_until(lambda: lane(delivery).state is LaneState.FROZEN)
    for _ in range(3):
        world.clock.run_until(lambda: lane(delivery).breaker is BreakerState.OPEN)
        world.clock.wait_for_sleepers()
        world.clock.advance(11)
    status = eventually(delivery, lambda status: status.lanes["b"].cursor == 6)
    assert status.lanes["a"].state is LaneState.FROZEN
    assert (status.lanes["a"].cursor, status.committed, status.lanes["a"].lag_batches) == (1, 1, 5)
    assert status.lanes["a"].lag_rows == 15
    sink.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == other.vault.batches == [1, 2, 3, 4, 5, 6]
    assert lane(delivery).state is LaneState.RUNNING


@pytest.mark.req("D17")
def test_a_lane_that_moves_again_says_that_it_is_catching_up(world: World) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink, retry=ONCE))
    sink.down = transient()
    world.publish(3, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN)
    seen: list[LaneState] = []
    sink.down, sink.before = None, lambda batch: seen.append(lane(delivery).state)
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert seen == [LaneState.FROZEN, LaneState.CATCHING_UP, LaneState.CATCHING_UP]


def test_a_frozen_lane_tries_once_in_each_cool_down(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(*[transient()] * 100))
    delivery = world.running(spec("a", sink, retry=ONCE))
    eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN)
    for attempts in range(1, 5):
        world.clock.wait_for_sleepers()
        world.clock.advance(9.9)
        world.clock.wait_for_sleepers()
        assert len(sink.calls.delivered) == attempts
        world.clock.advance(0.1)
        world.clock.wait_for_sleepers()
        assert len(sink.calls.delivered) == attempts + 1


@pytest.mark.req("D17")
@pytest.mark.parametrize("required", [True, False])
def test_a_sink_that_somebody_must_mend_freezes_its_lane_only_and_catches_up_by_itself(
    world: World, required: bool
) -> None:
    sink, other = RecordingSink(), RecordingSink()
    delivery = world.running(spec("a", sink, required=required), spec("b", other))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    sink.down = fatal()
    world.publish(3, to=delivery)
    status = eventually(delivery, lambda status: status.lanes["b"].cursor == 4)
    frozen = eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN).lanes["a"]
    assert status.phase is DeliveryPhase.RUNNING
    assert "Access was revoked." in str(frozen.last_error)
    assert (frozen.cursor, frozen.lag_batches, frozen.stopped) == (1, 3, None)
    for attempts in (1, 2, 3):
        world.clock.wait_for_sleepers()
        assert lane(delivery).attempts == attempts, "it is tried once in each cool-down"
        world.clock.advance(10)
    sink.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == other.vault.batches == [1, 2, 3, 4]
    assert lane(delivery).state is LaneState.RUNNING


def test_every_batch_that_a_fatal_answer_held_is_delivered_once(world: World) -> None:
    """Several batches are in the sink when access is revoked: all of them are held."""
    doors, revoked = Doors([1, 2, 3, 4]), threading.Event()

    def fail_while_revoked(batch: SinkBatch) -> None:
        doors(batch)
        if revoked.is_set():
            raise fatal()

    sink = ConcurrentSink(before=fail_while_revoked)
    delivery = world.running(spec("a", sink, max_inflight=4))
    world.publish(6, to=delivery)
    doors.wait_inside(1, 2, 3, 4)
    revoked.set()
    doors.open()
    eventually(delivery, lambda _: len(delivery._core.ledger.lanes["a"].held) == 4)
    for _ in range(3):
        world.clock.wait_for_sleepers()
        world.clock.advance(10)
    assert (lane(delivery).state, lane(delivery).in_flight) == (LaneState.FROZEN, 4)
    revoked.clear()
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sorted(sink.vault.batches) == [1, 2, 3, 4, 5, 6]


def test_the_time_until_somebody_mended_the_sink_takes_no_row_to_the_dead_letters(world: World) -> None:
    """One failed attempt in all is allowed: what was frozen does not count, or the passing error would be the last."""
    world.publish(1)
    twice = RetryPolicy(base=0.1, cap=1.0, attempts=2, elapsed=5.0)
    sink = RecordingSink(keeps_cursor=False, before=Errors(fatal(), fatal(), fatal(), transient()))
    delivery = world.running(spec("a", sink, retry=twice, on_exhausted=OnExhausted.DEAD_LETTER))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1]
    assert world.dead.places("sink:a") == []


def test_the_breaker_spares_a_sink_whose_calls_mostly_fail(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(*[transient()] * 5))
    patient = RetryPolicy(base=0.1, cap=0.2, attempts=50)
    delivery = world.running(spec("a", sink, retry=patient))
    world.clock.run_until(lambda: lane(delivery).breaker is BreakerState.OPEN)
    assert lane(delivery).state is LaneState.FROZEN
    assert len(sink.calls.delivered) == 5, "it opened before the budget was used up"
    world.clock.run_until(lambda: all_on_disk(delivery.status()))


def test_one_of_several_workers_probes_a_half_open_sink(world: World) -> None:
    world.publish(8)
    sink = ConcurrentSink()
    delivery = world.running(spec("a", sink, max_inflight=4, retry=ONCE))
    eventually(delivery, all_on_disk)
    sink.down = transient()
    world.publish(4, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].breaker is BreakerState.OPEN)
    world.clock.wait_for_sleepers()
    calls = len(sink.calls.delivered)
    world.clock.advance(10)
    eventually(delivery, lambda _: len(sink.calls.delivered) == calls + 1)
    world.clock.wait_for_sleepers()
    assert len(sink.calls.delivered) == calls + 1


def test_a_sink_that_throttles_beyond_the_budget_is_still_left_alone_that_long(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(throttled(40)))
    delivery = world.running(spec("a", sink, retry=ONCE))
    world.clock.wait_for_sleepers()
    world.clock.advance(39.9)
    world.clock.wait_for_sleepers()
    assert len(sink.calls.delivered) == 1
    world.clock.run_until(lambda: all_on_disk(delivery.status()))


def test_a_batch_whose_budget_is_used_up_goes_to_the_dead_letters_if_so_declared(world: World) -> None:
    world.publish(2)
    sink = RecordingSink(keeps_cursor=False, before=Errors(transient()))
    delivery = world.running(spec("a", sink, retry=ONCE, on_exhausted=OnExhausted.DEAD_LETTER))
    status = eventually(delivery, all_on_disk)
    assert sink.vault.batches == [2]
    assert world.dead.places("sink:a") == [(1, 0), (1, 1), (1, 2)]
    assert (status.lanes["a"].delivered, status.lanes["a"].rejected) == (1, 1)


def test_a_sink_with_a_cursor_moves_it_over_a_batch_that_went_to_the_dead_letters(world: World) -> None:
    world.publish(2)
    sink = RecordingSink(before=Errors(transient(), transient()))
    delivery = world.running(spec("a", sink, retry=ONCE, on_exhausted=OnExhausted.DEAD_LETTER))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.calls.delivered == [(1, 3), (1, 0), (1, 0), (2, 3)]
    assert sink.vault.batches == [1, 2]
    assert len(world.dead.recorded) == 3


def test_a_batch_that_may_be_in_the_sink_is_held_and_not_dead_lettered(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(keeps_cursor=False, before=Errors(unknown()))
    delivery = world.running(spec("a", sink, retry=ONCE, on_exhausted=OnExhausted.DEAD_LETTER))
    eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN)
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert world.dead.recorded == {}
    assert sink.vault.batches == [1]


def test_a_breaker_of_ones_own_is_used(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(transient()))
    delivery = world.running(spec("a", sink, retry=ONCE, breaker=BreakerPolicy(cool_down=77)))
    eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN)
    world.clock.wait_for_sleepers()
    world.clock.advance(76.9)
    world.clock.wait_for_sleepers()
    assert lane(delivery).cursor == 0
    world.clock.advance(0.1)
    eventually(delivery, all_on_disk)
