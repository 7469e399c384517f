"""An optional sink that holds the outbox back is left out and taken in again; what it misses is on record."""

from __future__ import annotations

import pytest
from tests.support.deliver_faults import Crash, Doors, Dying, transient
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import Delivery, LaneState, OnQuota
from holdfast.ledger import All, Gap, Quorum
from holdfast.model.errors import LaneExists, LifecycleRefused, SinkDetached, Transient, UnknownLane
from holdfast.testing import ConcurrentSink, RecordingSink, Vault


def blocked(world: World, down: RecordingSink, a: Vault | None = None) -> Delivery:
    """Lane a has three batches, the sink of lane b got one and is down since."""
    delivery = world.running(spec("a", RecordingSink(a)), spec("b", down, required=False))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    down.down = transient()
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 3 and status.is_durable)
    return delivery


def detached(world: World, down: RecordingSink, a: Vault | None = None) -> Delivery:
    delivery = blocked(world, down, a)
    delivery.detach("b")
    eventually(delivery, lambda _: world.outbox.forgotten == 3)
    eventually(delivery, lambda _: delivery._crew.running("b") == [])
    return delivery


@pytest.mark.req("X14", "X20")
def test_a_detached_sink_holds_nothing_back_and_the_status_says_what_it_misses(world: World) -> None:
    delivery = detached(world, RecordingSink())
    found = lane(delivery, "b")
    assert (found.state, found.gaps, found.cursor) == (LaneState.DETACHED, (Gap(1),), 1)
    assert found.is_conserved
    assert world.on_disk().gaps == {"b": (Gap(1),)}


@pytest.mark.req("X14")
def test_an_attached_sink_goes_on_where_the_outbox_is_and_its_gap_stays_to_be_seen(world: World) -> None:
    sink = RecordingSink()
    delivery = detached(world, sink)
    sink.down = None
    delivery.attach("b")
    world.publish(2, to=delivery)
    eventually(delivery, all_on_disk)
    assert (lane(delivery, "b").state, lane(delivery, "b").gaps) == (LaneState.RUNNING, (Gap(1, 3),))
    assert [oseq for oseq, _, _ in sink.vault.rows] == [1, 1, 1, 4, 4, 4, 5, 5, 5]
    assert world.on_disk().gaps == {"b": (Gap(1, 3),)}


def test_a_sink_without_a_cursor_of_its_own_is_attached_too(world: World) -> None:
    sink = ConcurrentSink()
    delivery = detached(world, sink)
    sink.down = None
    delivery.attach("b")
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    assert sink.vault.batches == [1, 4]
    assert lane(delivery, "b").gaps == (Gap(1, 3),)


@pytest.mark.req("X14")
def test_it_stays_detached_after_a_restart_and_is_not_even_opened(world: World) -> None:
    sink, a = RecordingSink(), Vault()
    detached(world, sink, a).abandon()
    opened = sink.calls.opened
    again = world.running(spec("a", RecordingSink(a)), spec("b", sink, required=False))
    assert lane(again, "b").state is LaneState.DETACHED
    assert sink.calls.opened == opened
    sink.down = None
    again.attach("b")
    world.publish(1, to=again)
    eventually(again, all_on_disk)
    assert lane(again, "b").gaps == (Gap(1, 3),)


def test_a_detached_sink_that_is_declared_as_required_refuses_the_start(world: World) -> None:
    sink = RecordingSink()
    detached(world, sink).abandon()
    with pytest.raises(SinkDetached, match="after batch 1"):
        world.delivery(spec("a", RecordingSink()), spec("b", sink)).start()


@pytest.mark.parametrize(
    ("how", "policy"),
    [
        pytest.param({"required": True}, None, id="a required sink"),
        pytest.param({"required": True}, Quorum(1), id="a required sink that the policy can do without"),
        pytest.param({"on_quota": OnQuota.BLOCK}, None, id="a sink that is to block"),
        pytest.param({}, All(), id="a policy that asks for all"),
        pytest.param({}, Quorum(2), id="a policy that asks for as many as there are"),
    ],
)
def test_what_must_be_waited_for_is_never_detached(world: World, how: dict[str, object], policy: object) -> None:
    down = RecordingSink()
    sinks = spec("a", RecordingSink()), spec("b", down, **({"required": False} | how))
    delivery = world.running(*sinks, policy=policy)
    down.down = transient()
    world.publish(2, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 2 and status.is_durable)
    assert delivery.holding_back() == []
    delivery.detach("b")
    delivery.change_policy(delivery._core.ledger.policy)  # it is done behind what was asked for before
    assert lane(delivery, "b").state is not LaneState.DETACHED


def test_detaching_would_free_nothing_while_a_required_sink_is_just_as_far(world: World) -> None:
    one, other = RecordingSink(), RecordingSink()
    delivery = world.running(spec("a", one), spec("b", other, required=False))
    one.down = other.down = transient()
    world.publish(2, to=delivery)
    assert delivery.holding_back() == []


def test_those_that_hold_it_back_are_told_slowest_first(world: World) -> None:
    slow, slower = RecordingSink(), RecordingSink()
    delivery = world.running(
        spec("a", RecordingSink()), spec("b", slow, required=False), spec("c", slower, required=False)
    )
    slower.down = transient()
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 1)
    slow.down = transient()
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 2)
    assert delivery.holding_back() == ["c", "b"]


def test_a_sink_that_has_caught_up_meanwhile_is_not_detached(world: World) -> None:
    sink = RecordingSink()
    delivery = blocked(world, sink)
    sink.down = None
    world.clock.run_until(lambda: lane(delivery, "b").cursor == 3)
    delivery.detach("b")
    delivery.change_policy(delivery._core.ledger.policy)
    assert lane(delivery, "b").state is not LaneState.DETACHED


def test_a_sink_that_cannot_be_reached_is_not_attached_and_stays_detached(world: World) -> None:
    delivery = detached(world, RecordingSink())
    with pytest.raises(Transient):
        delivery.attach("b")
    assert lane(delivery, "b").state is LaneState.DETACHED


def test_a_sink_that_is_not_detached_cannot_be_attached(world: World) -> None:
    delivery = detached(world, RecordingSink())
    for name in ("a", "nobody"):
        with pytest.raises(UnknownLane):
            delivery.attach(name)


def test_the_name_of_a_detached_sink_is_taken_until_it_is_removed(world: World) -> None:
    delivery = detached(world, RecordingSink())
    with pytest.raises(LaneExists):
        delivery.add_sink(spec("b", RecordingSink(), required=False))
    delivery.remove_sink("b")
    assert set(delivery.status().lanes) == {"a"}
    assert world.on_disk().gaps == {}


def test_a_sink_in_which_a_thread_still_hangs_is_not_attached(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("a", RecordingSink()), spec("b", RecordingSink(before=doors), required=False))
    world.publish(1, to=delivery)
    doors.wait_inside(1)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 1)
    delivery.detach("b")
    eventually(delivery, lambda status: status.lanes["b"].state is LaneState.DETACHED)
    with pytest.raises(LifecycleRefused):
        delivery.attach("b")
    doors.open()


@pytest.mark.req("X14")
def test_a_sink_that_was_replaced_by_an_empty_one_misses_everything(world: World) -> None:
    sink = RecordingSink()
    delivery = detached(world, sink)
    sink.down, sink.vault = None, Vault()
    delivery.attach("b")
    assert lane(delivery, "b").gaps == (Gap(0, 3),)


@pytest.mark.req("X14")
@pytest.mark.parametrize("step", ["cursor.write", "cursor.written", "outbox.trim", "outbox.trimmed"])
def test_a_crash_while_a_sink_is_detached_loses_no_batch_without_a_record(world: World, step: str) -> None:
    vault, dying = Vault(), Dying()
    sink, a = RecordingSink(vault), Vault()
    delivery = world.running(spec("a", RecordingSink(a)), spec("b", sink, required=False), hook=dying)
    sink.down = transient()
    world.publish(3, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 3 and status.is_durable)
    dying._step, dying._occurrence = step, dying.seen[step] + 1
    delivery.detach("b")
    eventually(delivery, lambda _: dying.died)
    delivery.abandon()
    again = world.running(spec("a", RecordingSink(a)), spec("b", RecordingSink(vault), required=False))
    eventually(again, lambda status: status.lanes["b"].state is LaneState.DETACHED or status.lanes["b"].cursor == 3)
    assert_nothing_is_missing_but_the_gaps(again, vault, 3)


@pytest.mark.req("X14")
@pytest.mark.parametrize("step", ["sink.write", "sink.commit", "sink.committed", "cursor.write", "cursor.written"])
def test_a_crash_while_a_sink_is_attached_loses_no_batch_without_a_record(world: World, step: str) -> None:
    sink = RecordingSink()
    vault, a, dying = sink.vault, Vault(), Dying()
    detached(world, sink, a).abandon()
    delivery = world.running(spec("a", RecordingSink(a)), spec("b", RecordingSink(vault), required=False), hook=dying)
    eventually(delivery, lambda status: status.is_durable)
    dying._step, dying._occurrence = step, dying.seen[step] + 1
    with pytest.raises((Crash, LifecycleRefused)):
        delivery.attach("b")
    delivery.abandon()
    again = world.running(spec("a", RecordingSink(a)), spec("b", RecordingSink(vault), required=False))
    if lane(again, "b").state is LaneState.DETACHED:
        again.attach("b")
    world.publish(1, to=again)
    eventually(again, all_on_disk)
    assert_nothing_is_missing_but_the_gaps(again, vault, 4)


def assert_nothing_is_missing_but_the_gaps(delivery: Delivery, vault: Vault, newest: int) -> None:
    missed = {
        oseq
        for gap in lane(delivery, "b").gaps
        for oseq in range(gap.after + 1, (newest if gap.through is None else gap.through) + 1)
    }
    assert {oseq for oseq, _, _ in vault.rows} == set(range(1, newest + 1)) - missed
