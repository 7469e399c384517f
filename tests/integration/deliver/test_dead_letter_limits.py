"""Lanes whose dead letters have no room: they wait, drive older ones out, or drop rows on purpose, as was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.deliver import LaneState
from holdfast.log import DeadLetterFilter, DeadLetterLimits, EntryState, Fate, Overflow
from holdfast.model.steps import Step
from holdfast.testing import RecordingSink, Vault
from tests.support.deliver_faults import Dying
from tests.support.deliver_real import Life, RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually, lane, rows, spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.testing.recording import Row

SIZE = 8
GOOD = ["1-0", "1-2", "1-4", "1-6"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path)
    yield world
    world.close()


def is_odd(row: Row) -> bool:
    return int(str(row["id"]).split("-")[1]) % 2 == 1


def begun(world: RealWorld, limits: DeadLetterLimits, vault: Vault) -> Life:
    """A lane that refuses every second row, beside one that takes everything."""
    sinks = [spec("a", RecordingSink(vault, refuses=is_odd)), spec("b", RecordingSink(), required=False)]
    life = world.life(*sinks, limits=limits)
    if not life.outbox.last_oseq():
        publish(life.outbox, rows(1, SIZE))
    life.delivery.start()
    return life


def acknowledge(life: Life, count: int) -> None:
    ids = {each.entry_id for each in life.dead.select(limit=count)}
    assert life.dead.mark(DeadLetterFilter(ids=ids), EntryState.ACKED) == count


@pytest.mark.req("D13")
def test_a_lane_without_room_stands_still_and_says_so_until_somebody_makes_room(world: RealWorld) -> None:
    vault = Vault()
    life = begun(world, DeadLetterLimits(2), vault)
    world.clock.wait_for_sleepers()
    status = eventually(life.delivery, lambda status: status.lanes["b"].cursor == 1)
    assert (status.lanes["a"].state, status.lanes["a"].cursor, vault.rows) == (LaneState.FROZEN, 0, [])
    assert status.lanes["a"].last_error is not None
    assert status.lanes["a"].last_error.code == "HF-410"
    assert (life.dead.count(), life.dead.status().is_full) == (2, True)
    for _ in range(3):
        world.clock.advance(5)
        world.clock.wait_for_sleepers()
    assert lane(life.delivery).cursor == 0, "trying again changes nothing"
    acknowledge(life, 1)
    world.clock.advance(5)
    world.clock.wait_for_sleepers()
    assert (lane(life.delivery).cursor, life.dead.count()) == (0, 2), "one place more is not enough"
    acknowledge(life, 1)
    world.clock.run_until(lambda: all_on_disk(life.delivery.status()))
    status = life.delivery.status()
    assert (status.lanes["a"].state, vault.values("id")) == (LaneState.RUNNING, GOOD)
    assert (status.lanes["a"].rows_dead, status.lanes["a"].rows_refused) == (4, 0)
    assert life.dead.rejected("sink:a", 1) == {1, 3, 5, 7}


@pytest.mark.req("D13")
def test_a_lane_that_waits_for_room_can_be_stopped_and_goes_on_after_the_next_start(world: RealWorld) -> None:
    vault = Vault()
    life = begun(world, DeadLetterLimits(3), vault)
    world.clock.wait_for_sleepers()
    life.delivery.stop()
    life.end()
    assert vault.rows == []
    life = begun(world, DeadLetterLimits(4), vault)
    eventually(life.delivery, all_on_disk)
    assert vault.values("id") == GOOD


@pytest.mark.req("D11")
def test_a_batch_with_more_bad_rows_than_entries_may_be_there_is_resolved_all_the_same(world: RealWorld) -> None:
    vault = Vault()
    life = begun(world, DeadLetterLimits(2, overflow=Overflow.DROP_OLDEST), vault)
    status = eventually(life.delivery, all_on_disk).lanes["a"]
    assert (vault.values("id"), status.rows_dead) == (GOOD, 4)
    assert [entry.ordinal for entry in life.dead.entries()] == [5, 7]
    assert {gone.ordinal for gone in life.dead.gone()} == {1, 3}


@pytest.mark.req("D12")
def test_refused_rows_are_accounted_for_as_such(world: RealWorld) -> None:
    vault = Vault()
    life = begun(world, DeadLetterLimits(1, overflow=Overflow.REJECT), vault)
    status = eventually(life.delivery, all_on_disk).lanes["a"]
    assert vault.values("id") == GOOD
    assert (status.rows_read, status.rows_out, status.rows_dead, status.rows_refused) == (8, 4, 1, 3)
    assert status.is_conserved
    assert life.dead.status().totals == {Fate.RECORDED: 1, Fate.REFUSED: 3}


@pytest.mark.req("D11", "D12", "X5")
@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.REJECT])
@pytest.mark.parametrize("step", [Step.SINK_COMMIT, Step.SINK_COMMITTED, Step.CURSOR_WRITE])
def test_what_was_given_up_is_not_sent_after_a_crash_though_its_entry_is_gone(
    world: RealWorld, step: Step, overflow: Overflow
) -> None:
    """Also when the sink would take it now, and the operator has purged everything meanwhile."""
    vault = Vault()
    limits = DeadLetterLimits(1, overflow=overflow)
    dying = Dying(step, 2 if step is Step.CURSOR_WRITE else 1)
    life = world.life(spec("a", RecordingSink(vault, refuses=is_odd)), limits=limits, hook=dying)
    publish(life.outbox, rows(1, SIZE))
    life.delivery.start()
    eventually(life.delivery, lambda _: life.delivery.failure() is not None)
    life.end()
    life = world.life(spec("a", RecordingSink(vault)), limits=limits)
    life.dead.remove(DeadLetterFilter())
    life.delivery.start()
    eventually(life.delivery, all_on_disk)
    assert vault.values("id") == GOOD
    assert life.dead.rejected("sink:a", 1) == {1, 3, 5, 7}
