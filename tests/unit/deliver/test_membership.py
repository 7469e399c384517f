"""Sinks are added and removed, and the policy changes, while batches flow: only between two writes of the cursors."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tests.support.deliver_faults import Crash, Doors, Dying, fatal, transient
from tests.support.deliver_stores import TestingStore
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import Delivery, LaneState
from holdfast.ledger import All, Quorum, Required, Start
from holdfast.model.errors import (
    InvalidPolicy,
    LaneExists,
    LifecycleRefused,
    NotRetained,
    StoreUnavailable,
    Transient,
    UnknownLane,
)
from holdfast.testing import RecordingSink, Vault


def in_background(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def running(world: World, **how: object) -> tuple[Delivery, RecordingSink]:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink), **how)
    world.publish(3, to=delivery)
    eventually(delivery, all_on_disk)
    return delivery, sink


@pytest.mark.req("X14")
def test_a_sink_added_at_now_gets_what_comes_after(world: World) -> None:
    delivery, _ = running(world)
    added = RecordingSink()
    delivery.add_sink(spec("b", added, start=Start.NOW))
    assert "b" in world.on_disk().delivered, "it is added when its cursor is on disk"
    world.publish(2, to=delivery)
    eventually(delivery, all_on_disk)
    assert [oseq for oseq, _, _ in added.vault.rows] == [4, 4, 4, 5, 5, 5]


@pytest.mark.req("X14")
def test_a_sink_added_at_the_earliest_gets_everything_that_is_kept(world: World) -> None:
    held = RecordingSink()
    delivery = world.running(spec("a", RecordingSink()), spec("hold", held))
    held.down = transient()
    world.publish(3, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 3)
    delivery.add_sink(spec("b", added := RecordingSink()))
    eventually(delivery, lambda status: status.lanes["b"].cursor == 3)
    assert added.vault.batches == [1, 2, 3]


@pytest.mark.req("X14")
def test_a_sink_that_asks_for_what_is_gone_is_refused_and_leaves_nothing_behind(world: World) -> None:
    delivery, _ = running(world)
    eventually(delivery, lambda _: world.outbox.forgotten == 3)
    with pytest.raises(NotRetained):
        delivery.add_sink(spec("b", late := RecordingSink()))
    eventually(delivery, lambda _: delivery._crew.running("b") == [])
    assert late.calls.closed >= 1
    assert set(delivery.status().lanes) == {"a"}
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)


def test_a_sink_whose_own_cursor_is_gone_from_the_outbox_is_refused(world: World) -> None:
    delivery, _ = running(world)
    eventually(delivery, lambda _: world.outbox.forgotten == 3)
    with pytest.raises(NotRetained):
        delivery.add_sink(spec("b", RecordingSink(Vault(cursor=1, outbox="outbox-1")), start=Start.NOW))


@pytest.mark.parametrize("error", [transient(), fatal()], ids=lambda error: type(error).__name__)
def test_a_sink_that_cannot_be_opened_is_not_added(world: World, error: Exception) -> None:
    delivery, _ = running(world)
    sink = RecordingSink()
    sink.down = error
    with pytest.raises(Transient, match=error.what):
        delivery.add_sink(spec("b", sink, start=Start.NOW))
    eventually(delivery, lambda _: delivery._crew.running("b") == [])
    assert set(delivery.status().lanes) == {"a"}


def test_a_name_is_given_once(world: World) -> None:
    delivery, _ = running(world)
    with pytest.raises(LaneExists):
        delivery.add_sink(spec("a", RecordingSink()))


@pytest.mark.req("X14")
def test_a_removed_sink_pins_nothing_and_gets_nothing(world: World) -> None:
    down = RecordingSink()
    delivery = world.running(spec("a", RecordingSink()), spec("b", down, required=False))
    down.down = transient()
    world.publish(3, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].in_flight == 1)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 3 and status.is_durable)
    assert world.outbox.forgotten == 0
    record = delivery.remove_sink("b")
    assert (record.abandoned, record.remaining) == ({"b": (1,)}, {"b": (2, 3)})
    assert world.on_disk().delivered == {"a": 3}
    eventually(delivery, lambda _: world.outbox.forgotten == 3)
    assert (down.calls.closed, down.vault.batches) == (1, [])
    assert set(delivery.status().lanes) == {"a"}


def test_the_last_required_sink_cannot_be_removed(world: World) -> None:
    delivery, _ = running(world)
    with pytest.raises(InvalidPolicy):
        delivery.remove_sink("a")
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)


def test_a_sink_that_is_not_there_cannot_be_removed(world: World) -> None:
    delivery, _ = running(world)
    with pytest.raises(UnknownLane):
        delivery.remove_sink("b")


def test_an_answer_that_comes_after_the_removal_is_ignored(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("a", RecordingSink()), spec("b", RecordingSink(before=doors), required=False))
    world.publish(2, to=delivery)
    doors.wait_inside(1)
    removing, raised = in_background(lambda: delivery.remove_sink("b"))
    eventually(delivery, lambda status: "b" not in status.lanes)
    doors.open()
    removing.join(20)
    assert raised == []
    eventually(delivery, all_on_disk)
    assert delivery._crew.running("b") == []


@pytest.mark.req("X14")
def test_a_removed_sink_can_be_added_again_and_goes_on_from_its_own_cursor(world: World) -> None:
    held = RecordingSink()
    delivery = world.running(spec("a", RecordingSink()), spec("b", sink := RecordingSink()), spec("hold", held))
    held.down = transient()
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 2)
    delivery.remove_sink("b")
    world.publish(2, to=delivery)
    delivery.add_sink(spec("b", RecordingSink(sink.vault)))
    eventually(delivery, lambda status: status.lanes["b"].cursor == 4)
    assert sink.vault.batches == [1, 2, 3, 4]


@pytest.mark.req("D8")
def test_another_policy_decides_from_now_on(world: World) -> None:
    down = RecordingSink()
    delivery = world.running(spec("a", RecordingSink()), spec("b", down), policy=All())
    down.down = transient()
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 2)
    assert delivery.status().committed == 0
    delivery.change_policy(Quorum(1))
    eventually(delivery, lambda status: status.committed_on_disk == 2)
    delivery.change_policy(Required())
    assert delivery.status().committed == 2, "it never falls"


def test_an_operation_waits_until_the_cursors_on_disk_are_the_current_ones(world: World) -> None:
    """The shell's second rule."""
    store = TestingStore(world.shelf)
    delivery = world.running(spec("a", RecordingSink()), spec("b", RecordingSink(), required=False), store=store)
    store.failing = StoreUnavailable("It is away.", remedy="Wait.")
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.trouble is not None and status.committed == 2)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 2)
    removing, raised = in_background(lambda: delivery.remove_sink("b"))
    world.clock.wait_for_sleepers()
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.committed == status.lanes["b"].cursor == 3)
    store.failing = None
    world.clock.run_until(lambda: not removing.is_alive())
    assert raised == []
    before, after = (found.delivered for found in store.written[-2:])
    assert (before, after) == ({"a": 3, "b": 3}, {"a": 3})


def test_an_operation_does_not_follow_a_write_that_answers_have_overtaken(world: World) -> None:
    """A write that fails lets answers go on; then the next write may be old before it is done."""
    store = TestingStore(world.shelf)
    delivery = world.running(spec("a", RecordingSink()), spec("b", RecordingSink(), required=False), store=store)

    def deliver_one() -> None:
        world.publish(1, to=delivery)
        eventually(delivery, lambda status: {lane.cursor for lane in status.lanes.values()} == {status.newest})

    store.shut()
    deliver_one()
    assert store.writing.wait(20)
    removing, raised = in_background(lambda: delivery.remove_sink("b"))
    eventually(delivery, lambda _: bool(delivery._operations))
    deliver_one()
    store.next_failures.extend([None, StoreUnavailable("It is away.", remedy="Wait.")])
    store.open()
    eventually(delivery, lambda status: status.trouble is not None)
    store.shut()
    world.clock.run_until(store.writing.is_set)
    deliver_one()
    store.open()
    removing.join(20)
    assert raised == []
    assert [found.delivered for found in store.written[-2:]] == [{"a": 3, "b": 3}, {"a": 3}]


def test_nothing_is_created_while_a_sink_that_starts_now_is_told_so(world: World) -> None:
    delivery, _ = running(world)
    doors = Doors([3])
    adding, raised = in_background(lambda: delivery.add_sink(spec("b", RecordingSink(before=doors), start=Start.NOW)))
    doors.wait_inside(3)
    creating, _ = in_background(lambda: world.publish(1, to=delivery))
    creating.join(0.2)
    assert delivery.status().newest == 3
    doors.open()
    adding.join(20)
    creating.join(20)
    assert raised == []
    eventually(delivery, all_on_disk)


def test_operations_get_their_turn_while_batches_flow(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()), spec("b", RecordingSink(), required=False))
    enough = threading.Event()

    def flow() -> None:
        while not enough.is_set():
            world.publish(1, to=delivery)

    flowing, raised = in_background(flow)
    for _ in range(5):
        delivery.remove_sink("b")
        delivery.add_sink(spec("b", RecordingSink(), required=False, start=Start.NOW))
    enough.set()
    flowing.join(20)
    assert raised == []
    eventually(delivery, all_on_disk)


def test_nothing_is_created_or_sent_for_a_lane_before_the_disk_names_it(world: World) -> None:
    """The shell's first rule, for a lane that is added."""
    store = TestingStore(world.shelf)
    delivery = world.running(spec("a", RecordingSink()), store=store)
    added = RecordingSink()
    store.shut()
    adding, raised = in_background(lambda: delivery.add_sink(spec("b", added, start=Start.NOW)))
    assert store.writing.wait(20)
    eventually(delivery, lambda status: "b" in status.lanes)
    creating, _ = in_background(lambda: world.publish(1, to=delivery))
    creating.join(0.2)
    assert delivery.status().newest == 0
    store.open()
    adding.join(20)
    creating.join(20)
    assert raised == []
    eventually(delivery, all_on_disk)
    assert [oseq for oseq, _, _ in added.vault.rows] == [1, 1, 1]


@pytest.mark.req("X14")
@pytest.mark.parametrize("step", ["sink.committed", "cursor.write", "cursor.written"])
def test_a_crash_while_a_sink_is_added_owes_it_everything_from_there(world: World, step: str) -> None:
    delivery, sink = running(world)
    delivery.abandon()
    vault, dying = Vault(), Dying()
    again = world.running(spec("a", RecordingSink(sink.vault)), hook=dying)
    eventually(again, all_on_disk)
    dying._step, dying._occurrence = step, dying.seen[step] + 1
    with pytest.raises((Crash, LifecycleRefused)):
        again.add_sink(spec("b", RecordingSink(vault), start=Start.NOW))
    again.abandon()
    last = world.running(spec("a", RecordingSink(sink.vault)), spec("b", RecordingSink(vault), start=Start.NOW))
    world.publish(1, to=last)
    eventually(last, all_on_disk)
    assert [oseq for oseq, _, _ in vault.rows] == [4, 4, 4]


def test_a_stopped_delivery_refuses_operations(world: World) -> None:
    delivery, _ = running(world)
    delivery.stop()
    with pytest.raises(LifecycleRefused):
        delivery.change_policy(All())


def test_a_lane_added_to_a_running_pipeline_says_that_it_catches_up(world: World) -> None:
    held = RecordingSink()
    delivery = world.running(spec("a", RecordingSink()), spec("hold", held))
    held.down = transient()
    world.publish(3, to=delivery)
    seen: list[LaneState] = []
    delivery.add_sink(spec("b", RecordingSink(before=lambda _: seen.append(lane(delivery, "b").state))))
    eventually(delivery, lambda status: status.lanes["b"].cursor == 3)
    assert seen == [LaneState.CATCHING_UP] * 3
