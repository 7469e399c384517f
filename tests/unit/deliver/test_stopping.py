"""Stopping: what was sent is awaited or listed, the list is stored, and every thread ends."""

from __future__ import annotations

import threading

import pytest
from tests.support.deliver_faults import Doors, Errors, fatal, transient
from tests.support.deliver_stores import TestingStore
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import Delivery, DeliveryPhase, DeliverySettings, LaneState
from holdfast.ledger import StopReason, StopRecord
from holdfast.model.errors import LifecycleRefused, PhaseRefused, StoreUnavailable
from holdfast.testing import ConcurrentSink, RecordingSink


class Draining:
    """A drain in a thread of its own."""

    def __init__(self, delivery: Delivery, deadline: float) -> None:
        self.records: list[StopRecord] = []
        self._thread = threading.Thread(target=lambda: self.records.append(delivery.drain(deadline)))
        self._thread.start()
        eventually(delivery, lambda status: status.phase is not DeliveryPhase.RUNNING)

    def record(self) -> StopRecord:
        self._thread.join(20)
        return self.records[0]


@pytest.mark.req("M5", "M7")
def test_a_drain_waits_for_what_was_sent_and_lists_what_was_not(world: World) -> None:
    doors = Doors([1])
    sink = RecordingSink(before=doors)
    delivery = world.running(spec("a", sink))
    world.publish(3, to=delivery)
    doors.wait_inside(1)
    draining = Draining(delivery, 60)
    doors.open()
    record = draining.record()
    assert record == StopRecord(StopReason.GRACEFUL, remaining={"a": (2, 3)})
    assert world.on_disk().stop == record
    assert sink.vault.batches == [1]
    assert delivery.status().phase is DeliveryPhase.STOPPED


@pytest.mark.req("M4")
def test_a_drain_takes_on_nothing(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("a", RecordingSink(before=doors)))
    world.publish(1, to=delivery)
    doors.wait_inside(1)
    draining = Draining(delivery, 60)
    with pytest.raises(PhaseRefused):
        world.publish(1, to=delivery)
    doors.open()
    assert draining.record().reason is StopReason.GRACEFUL


def test_a_drain_retries_until_the_deadline(world: World) -> None:
    world.publish(1)
    sink = RecordingSink(before=Errors(transient(), transient()))
    delivery = world.running(spec("a", sink))
    world.clock.wait_for_sleepers()
    draining = Draining(delivery, 60)
    for _ in range(2):
        world.clock.wait_for_sleepers(2)
        world.clock.advance(1.0)
    assert draining.record().reason is StopReason.GRACEFUL
    assert sink.vault.batches == [1]


@pytest.mark.req("M5")
def test_a_drain_whose_deadline_passes_is_a_forced_stop_with_the_list(world: World) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    sink.down = transient()
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].in_flight == 1)
    draining = Draining(delivery, 5)
    world.clock.wait_for_sleepers(2)
    world.clock.run_until(lambda: bool(draining.records))
    record = draining.record()
    assert record == StopRecord(StopReason.FORCED, remaining={"a": (2,)}, abandoned={"a": (1,)})
    assert world.on_disk().stop == record


def test_a_drain_does_not_wait_for_a_lane_that_cannot_go_on(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()), spec("b", bad := RecordingSink(), required=False))
    bad.before = Errors(fatal())
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].state is LaneState.STOPPED)
    record = delivery.drain(1000)
    assert record.abandoned == {"b": (1,)}
    assert world.clock.monotonic() == 0


@pytest.mark.req("M5")
def test_a_forced_stop_lists_what_it_abandons_and_the_next_start_sends_it_again(world: World) -> None:
    doors = Doors([1, 2])
    sink = ConcurrentSink(before=doors)
    delivery = world.running(spec("a", sink, max_inflight=2))
    world.publish(3, to=delivery)
    doors.wait_inside(1, 2)
    stopping = threading.Thread(target=delivery.stop)
    stopping.start()
    eventually(delivery, lambda status: status.phase is DeliveryPhase.STOPPED)
    doors.open()
    stopping.join(20)
    record = world.on_disk().stop
    assert record == StopRecord(StopReason.FORCED, remaining={"a": (3,)}, abandoned={"a": (1, 2)})
    assert delivery.status().lanes["a"].is_conserved
    again = world.running(spec("a", ConcurrentSink(sink.vault), max_inflight=2))
    eventually(again, all_on_disk)
    assert sorted(sink.vault.batches) == [1, 2, 3], "they were in the sink after all, and are there once"


def test_stopping_twice_gives_the_same_record(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()))
    assert delivery.stop() == delivery.stop() == delivery.drain(1)


def test_a_delivery_that_was_not_started_cannot_be_stopped_or_asked(world: World) -> None:
    delivery = world.delivery(spec("a", RecordingSink()))
    for refused in (delivery.stop, delivery.status):
        with pytest.raises(LifecycleRefused):
            refused()
    delivery.close()


def test_all_threads_have_ended_and_sinks_are_closed_after_a_stop(world: World) -> None:
    before = set(threading.enumerate())
    sinks = [RecordingSink(), ConcurrentSink()]
    delivery = world.running(spec("a", sinks[0]), spec("b", sinks[1], max_inflight=4))
    world.publish(5, to=delivery)
    delivery.drain(60)
    for thread in set(threading.enumerate()) - before:
        thread.join(20)
    assert set(threading.enumerate()) == before
    assert [sink.calls.closed for sink in sinks] == [1, 1]


@pytest.mark.req("M16")
def test_a_stop_ends_with_every_queue_full(world: World) -> None:
    world.publish(50)
    doors = Doors([1])
    frozen = RecordingSink()
    delivery = world.running(
        spec("a", RecordingSink(before=doors)), spec("b", frozen), settings=DeliverySettings(batches_in_memory=1)
    )
    frozen.down = transient()
    doors.wait_inside(1)
    doors.open()
    record = delivery.stop()
    assert record.reason is StopReason.FORCED
    assert delivery._crew.running() == []


def test_a_thread_that_hangs_in_a_sink_does_not_hold_the_stop_for_ever(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("a", RecordingSink(before=doors)))
    world.publish(1, to=delivery)
    doors.wait_inside(1)
    stopping = threading.Thread(target=delivery.stop)
    stopping.start()
    world.clock.wait_for_sleepers()
    world.clock.run_until(lambda: not stopping.is_alive())
    assert world.on_disk().stop is not None
    assert delivery._crew.running() == ["a"]
    doors.open()
    eventually(delivery, lambda _: delivery._crew.running() == [])


def test_a_stop_gives_up_on_a_store_that_stays_away(world: World) -> None:
    store = TestingStore(world.shelf)
    delivery = world.running(spec("a", RecordingSink()), store=store)
    store.failing = StoreUnavailable("It is away.", remedy="Wait.")
    stopping = threading.Thread(target=delivery.stop)
    stopping.start()
    world.clock.run_until(lambda: not stopping.is_alive())
    status = delivery.status()
    assert (status.phase, status.is_durable) == (DeliveryPhase.STOPPED, False)
    assert "It is away." in (status.trouble or "")
    assert world.on_disk().stop is None


@pytest.mark.req("M10")
def test_what_has_stopped_sends_nothing_more(world: World) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink))
    delivery.stop()
    with pytest.raises(PhaseRefused):
        world.publish(1, to=delivery)
    assert sink.calls.delivered == []


def test_leaving_the_context_stops(world: World) -> None:
    with world.running(spec("a", RecordingSink())) as delivery:
        world.publish(1, to=delivery)
        eventually(delivery, all_on_disk)
    assert lane(delivery).state is LaneState.ENDED
    assert world.on_disk().stop is not None
