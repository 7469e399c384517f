"""The status tells the truth: its numbers add up at every moment, and agree with what is really in sinks and logs."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest
from tests.support.deliver_faults import Doors, transient
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import BreakerState, DeliveryPhase, DeliveryStatus, LaneState, Tier
from holdfast.deliver.status import Latency
from holdfast.ledger import Route
from holdfast.model.positions import Lsn
from holdfast.testing import ConcurrentSink, Flakiness, RecordingSink


def test_a_lane_tells_all_about_itself(world: World) -> None:
    doors = Doors([2])
    delivery = world.running(spec("a", RecordingSink(before=doors)))
    world.publish(4, to=delivery)
    doors.wait_inside(2)
    status = lane(delivery)
    assert (status.name, status.kind, status.tier, status.required) == ("a", "recording", Tier.EXACTLY_ONCE, True)
    assert (status.state, status.route, status.breaker) == (LaneState.RUNNING, Route.NEW, BreakerState.CLOSED)
    assert (status.offered, status.delivered, status.in_flight, status.queued, status.cursor) == (4, 1, 1, 2, 1)
    assert (status.lag_batches, status.lag_rows) == (3, 9)
    assert (status.rows_read, status.rows_out, status.last_error, status.stopped) == (3, 3, None, None)
    doors.open()


def test_the_whole_tells_what_is_committed_and_what_is_on_disk(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()))
    world.publish(2, to=delivery)
    status = eventually(delivery, all_on_disk)
    assert (status.phase, status.newest, status.committed) == (DeliveryPhase.RUNNING, 2, 2)
    assert (status.committed_on_disk, status.positions) == (2, {"orders": Lsn(200)})
    assert (status.failure, status.trouble) == (None, None)


def test_a_delivery_is_caught_up_when_every_sink_has_everything_on_disk(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("a", RecordingSink(before=doors)))
    assert delivery.is_caught_up()
    world.publish(1, to=delivery)
    doors.wait_inside(1)
    assert not delivery.is_caught_up()
    doors.open()
    assert delivery.wait_until(lambda status: status.committed_on_disk == 1, seconds=1000)
    assert delivery.is_caught_up()


def test_waiting_for_what_does_not_come_ends(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()))
    assert not delivery.wait_until(lambda status: status.committed == 1, seconds=0)


def check_against_history(status: DeliveryStatus, world: World, sinks: dict[str, RecordingSink]) -> None:
    """Compare with what is really there: the sinks and the dead letters, of which the status knows nothing."""
    for name, found in status.lanes.items():
        in_sink = set(sinks[name].vault.batches)
        dead = {oseq for oseq, _ in world.dead.places(f"sink:{name}")}
        assert found.is_conserved, found
        assert found.offered == status.newest
        assert set(range(1, found.cursor + 1)) <= in_sink, "the cursor passed a batch that the sink does not have"
        assert found.delivered <= len(in_sink - dead)
        assert found.rejected <= len(dead)
        assert found.queued + found.in_flight >= status.newest - len(in_sink | dead)


@pytest.mark.req("M13", "M21")
@pytest.mark.parametrize("seed", range(8))
def test_the_numbers_agree_with_history_at_every_moment(world: World, seed: int) -> None:
    random = Random(seed)
    flaky = Flakiness(random, rate=0.2)
    sinks: dict[str, RecordingSink] = {
        "a": RecordingSink(before=flaky.before, after=flaky.after, refuses=lambda row: str(row["id"]).endswith("5-1")),
        "b": ConcurrentSink(before=flaky.before, after=flaky.after),
    }
    delivery = world.running(*[spec(name, sink, max_inflight=3) for name, sink in sinks.items()], seed=seed)

    def checked() -> bool:
        status = delivery.status()
        check_against_history(status, world, sinks)
        return status.newest == 30 and all_on_disk(status)

    for _ in range(30):
        world.publish(1, to=delivery)
        checked()
    world.clock.run_until(checked)
    status = delivery.status()
    a, b = status.lanes["a"], status.lanes["b"]
    assert (a.delivered, a.rejected, a.rows_dead, a.rows_out) == (27, 3, 3, 87)
    assert (b.delivered, b.rejected, b.rows_out) == (30, 0, 90)


@pytest.mark.req("X20")
def test_a_frozen_lane_keeps_no_rows_in_memory_but_those_it_carries(world: World) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink), spec("b", RecordingSink()))
    sink.down = transient()
    world.publish(200, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 200)
    assert delivery._reader.kept <= 4
    assert list(delivery._core.lanes["a"].trying) == [1]


def test_a_batch_that_is_told_twice_is_delivered_once(world: World) -> None:
    sink = RecordingSink(keeps_cursor=False)
    delivery = world.running(spec("a", sink))
    world.publish(2, to=delivery)
    for batch in world.outbox.published:
        delivery.published(batch)
    eventually(delivery, all_on_disk)
    assert sink.vault.batches == [1, 2]
    assert lane(delivery).offered == 2


@pytest.mark.req("X24")
def test_the_time_from_capture_to_the_commit_of_the_sink_is_measured_per_lane(world: World) -> None:
    doors = Doors([2])
    captured = {oseq: world.clock.now() + timedelta(seconds=oseq) for oseq in (1, 2)}
    delivery = world.running(
        spec("a", RecordingSink(before=doors)), spec("b", RecordingSink(), required=False), captured_at=captured.get
    )
    world.clock.advance(3)
    world.publish(3, to=delivery)
    doors.wait_inside(2)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 3)
    assert lane(delivery, "a").latency == Latency(batches=1, p50=2.0, p99=2.0, longest=2.0)
    world.clock.advance(7)
    doors.open()
    eventually(delivery, all_on_disk)
    found = lane(delivery, "a").latency
    assert (found.batches, found.longest) == (2, 8.0)
    assert 2.0 <= found.p50 <= 2.0 * 2**0.25
    assert lane(delivery, "b").latency.longest == 2.0


def test_a_commit_before_the_capture_by_another_clock_took_no_time(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()), captured_at=lambda _: world.clock.now() + timedelta(hours=1))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    assert lane(delivery).latency == Latency(batches=1)
