"""Lanes do not wait for each other, and the policy alone decides what is committed."""

from __future__ import annotations

from itertools import product

import pytest
from tests.support.deliver_faults import Doors, Errors, transient
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import LaneState
from holdfast.ledger import All, Policy, Quorum, Required
from holdfast.model.positions import Lsn
from holdfast.testing import RecordingSink


@pytest.mark.req("D6")
def test_a_sink_that_is_down_keeps_its_cursor_while_the_others_go_on(world: World) -> None:
    down, well = RecordingSink(), RecordingSink()
    delivery = world.running(spec("a", down), spec("b", well))
    down.down = transient()
    world.publish(5, to=delivery)
    status = eventually(delivery, lambda status: status.lanes["b"].cursor == 5 and status.is_durable)
    assert (status.lanes["a"].cursor, down.vault.batches) == (0, [])
    assert world.on_disk().delivered == {"a": 0, "b": 5}
    assert world.on_disk().committed == 0


@pytest.mark.req("D6")
def test_a_slow_sink_does_not_hold_a_fast_one(world: World) -> None:
    doors = Doors([1])
    delivery = world.running(spec("slow", RecordingSink(before=doors)), spec("fast", RecordingSink()))
    world.publish(20, to=delivery)
    doors.wait_inside(1)
    eventually(delivery, lambda status: status.lanes["fast"].cursor == 20)
    assert lane(delivery, "slow").cursor == 0
    doors.open()


@pytest.mark.req("M20")
def test_a_sink_that_took_a_batch_gets_it_once_while_another_is_retried(world: World) -> None:
    flaky, well = RecordingSink(before=Errors(*[transient()] * 3)), RecordingSink(keeps_cursor=False)
    delivery = world.running(spec("a", flaky), spec("b", well))
    world.publish(2, to=delivery)
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert [oseq for oseq, _ in well.calls.delivered] == [1, 2]


@pytest.mark.req("M20")
def test_a_sink_that_took_a_batch_gets_it_once_across_a_restart(world: World) -> None:
    down, well = RecordingSink(), RecordingSink(keeps_cursor=False)
    delivery = world.running(spec("a", down), spec("b", well))
    down.down = transient()
    world.publish(3, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 3 and status.is_durable)
    delivery.abandon()
    down.down = None
    again = world.running(
        spec("a", RecordingSink(down.vault)), spec("b", RecordingSink(well.vault, keeps_cursor=False))
    )
    eventually(again, all_on_disk)
    assert well.vault.batches == [1, 2, 3]
    assert down.vault.batches == [1, 2, 3]


POLICIES: dict[str, Policy] = {"required": Required(), "all": All(), "quorum 1": Quorum(1), "quorum 2": Quorum(2)}


def is_met(policy: Policy, takes: tuple[bool, ...], required: tuple[bool, ...]) -> bool:
    """The policy in its own words: which sinks must have a batch."""
    match policy:
        case Required():
            return all(took for took, needed in zip(takes, required, strict=True) if needed)
        case All():
            return all(takes)
        case Quorum(n):
            return sum(takes) >= n


@pytest.mark.req("D8", "X13")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("takes", list(product([True, False], repeat=3)), ids=str)
def test_what_is_committed_follows_the_policy(world: World, policy: str, takes: tuple[bool, ...]) -> None:
    required = (True, True, False)
    sinks = {name: RecordingSink() for name in "abc"}
    delivery = world.running(
        *[spec(name, sink, required=needed) for (name, sink), needed in zip(sinks.items(), required, strict=True)],
        policy=POLICIES[policy],
    )
    for sink, took in zip(sinks.values(), takes, strict=True):
        sink.down = None if took else transient()
    world.publish(2, to=delivery)
    taking = [name for name, took in zip(sinks, takes, strict=True) if took]
    refusing = [name for name, took in zip(sinks, takes, strict=True) if not took]
    eventually(
        delivery,
        lambda status: (
            status.is_durable
            and all(status.lanes[name].cursor == 2 for name in taking)
            and all(status.lanes[name].state is LaneState.RETRYING for name in refusing)
        ),
    )
    expected = 2 if is_met(POLICIES[policy], takes, required) else 0
    assert world.on_disk().committed == expected
    assert world.on_disk().delivered == {name: 2 if took else 0 for name, took in zip(sinks, takes, strict=True)}
    eventually(delivery, lambda _: bool(world.told) == bool(expected))
    assert [positions["orders"] for positions in world.told][-1:] == ([Lsn(200)] if expected else [])
