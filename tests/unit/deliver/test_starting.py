"""Where lanes begin: after a restart, with a sink ahead or behind, with a new sink, and with a sink that is away."""

from __future__ import annotations

import errno
import threading

import pytest
from tests.support.deliver_faults import Crash, Dying, fatal, transient
from tests.support.deliver_stores import TestingStore
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import DeliveryPhase, LaneIdentity, LaneState
from holdfast.ledger import Route, Start
from holdfast.model.errors import CursorAhead, NotRetained, PipelineFenced, Rejected, StoreUnavailable, Transient
from holdfast.testing import RecordingSink, Vault


def deliver(world: World, vault: Vault, batches: int, **how: object) -> None:
    """A life that delivers so many batches, everything on disk, and ends without a trace."""
    delivery = world.running(spec("a", RecordingSink(vault)), **how)
    world.publish(batches, to=delivery)
    eventually(delivery, all_on_disk)
    delivery.abandon()


def keep_everything(world: World) -> None:
    """An outbox that keeps longer than it must."""
    world.outbox.release = lambda through: None  # type: ignore[method-assign]


def test_the_first_cursors_are_on_disk_before_anything_is_sent(world: World) -> None:
    """The shell's first rule: else a lane that starts at `now` skips batches after a crash."""
    world.publish(2)
    seen: list[bool] = []
    sink = RecordingSink(before=lambda _: seen.append("a" in world.on_disk().delivered))
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert seen == [True, True]


def test_nothing_is_sent_or_created_when_the_first_cursors_cannot_be_written(world: World) -> None:
    world.publish(1)
    store = TestingStore(world.shelf)
    sink = RecordingSink()
    delivery = world.delivery(spec("a", sink), store=store)
    store.failing = StoreUnavailable("It is away.", remedy="Wait.")
    with pytest.raises(StoreUnavailable):
        delivery.start()
    assert sink.calls.delivered == []
    assert sink.calls.closed >= 1


def test_a_stop_record_of_before_is_gone_before_anything_is_sent(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink(vault := Vault())))
    delivery.drain(10)
    assert world.on_disk().stop is not None
    world.publish(1)
    seen: list[object] = []
    again = world.running(spec("a", RecordingSink(vault, before=lambda _: seen.append(world.on_disk().stop))))
    eventually(again, all_on_disk)
    assert seen == [None]


def test_a_lane_resumes_from_our_cursor_when_the_sink_keeps_none(world: World) -> None:
    vault = Vault()
    first = world.running(spec("a", RecordingSink(vault, keeps_cursor=False)))
    world.publish(2, to=first)
    eventually(first, all_on_disk)
    first.abandon()
    world.publish(1)
    second = world.running(spec("a", RecordingSink(vault, keeps_cursor=False)))
    eventually(second, all_on_disk)
    assert vault.batches == [1, 2, 3]
    assert lane(second).route is Route.RESUMED


def test_a_sink_that_has_more_than_we_had_recorded_is_not_sent_it_again(world: World) -> None:
    deliver(world, vault := Vault(), 2)
    keep_everything(world)
    store = TestingStore(world.shelf)
    lost = world.running(spec("a", RecordingSink(vault)), store=store)
    store.shut()
    world.publish(3, to=lost)
    eventually(lost, lambda status: status.lanes["a"].cursor == 5)
    with lost._core.changing():
        lost._core.is_abandoned = True
    store.failing = StoreUnavailable("The process is gone.", remedy="-")
    store.open()
    lost.abandon()
    assert world.on_disk().delivered == {"a": 2}
    sink = RecordingSink(vault)
    again = world.running(spec("a", sink))
    eventually(again, all_on_disk)
    assert (lane(again).route, sink.calls.delivered, vault.batches) == (Route.SINK_AHEAD, [], [1, 2, 3, 4, 5])


def test_a_sink_restored_from_an_older_backup_gets_exactly_what_it_lacks(world: World) -> None:
    keep_everything(world)
    deliver(world, vault := Vault(), 2)
    backup = vault.backup()
    deliver(world, vault, 3)
    vault.restore(backup)
    sink = RecordingSink(vault)
    delivery = world.running(spec("a", sink))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    assert vault.batches == [1, 2, 3, 4, 5, 6]
    assert [oseq for oseq, _ in sink.calls.delivered] == [3, 4, 5, 6]
    assert lane(delivery).route is Route.SINK_BEHIND


def test_a_sink_restored_while_it_was_away_gets_what_it_lacks_when_it_is_back(world: World) -> None:
    """Another sink, which is still behind, keeps what the restored one needs."""
    restored, behind = Vault(), Vault()
    first = world.running(spec("a", RecordingSink(restored)), spec("b", slow := RecordingSink(behind)))
    world.publish(2, to=first)
    eventually(first, all_on_disk)
    backup, slow.down = restored.backup(), transient()
    world.publish(3, to=first)
    eventually(first, lambda status: status.lanes["a"].cursor == 5 and status.is_durable)
    first.abandon()
    restored.restore(backup)
    sink, slow = RecordingSink(restored), RecordingSink(behind)
    sink.down = slow.down = transient()
    delivery = world.running(spec("a", sink), spec("b", slow))
    assert (lane(delivery).state, lane(delivery).cursor) == (LaneState.FROZEN, 5)
    sink.down = None
    world.clock.run_until(lambda: restored.cursor == 5)
    slow.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert restored.batches == behind.batches == [1, 2, 3, 4, 5]
    assert [oseq for oseq, _ in sink.calls.delivered] == [3, 4, 5]


@pytest.mark.parametrize("is_late", [False, True], ids=["at the start", "opened late"])
def test_a_sink_that_needs_what_is_gone_does_not_go_on(world: World, is_late: bool) -> None:
    deliver(world, vault := Vault(), 3)
    vault.restore(Vault(cursor=1, batches=[1], outbox="outbox-1"))
    sink = RecordingSink(vault)
    sink.down = transient() if is_late else None
    delivery = world.running(
        spec("a", sink, required=False),
        spec("b", RecordingSink(), start=Start.NOW),
    )
    sink.down = None
    world.clock.run_until(lambda: lane(delivery).state is LaneState.STOPPED)
    assert "no longer kept" in (lane(delivery).stopped or "")
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.lanes["b"].cursor == 4)


def test_a_required_sink_that_needs_what_is_gone_refuses_the_start(world: World) -> None:
    deliver(world, vault := Vault(), 3)
    vault.restore(Vault(cursor=1, batches=[1], outbox="outbox-1"))
    delivery = world.delivery(spec("a", RecordingSink(vault)))
    with pytest.raises(NotRetained) as refused:
        delivery.start()
    assert refused.value.context["missing"] == (2, 3)


def test_a_sink_that_is_ahead_of_the_outbox_refuses_the_start(world: World) -> None:
    vault = Vault(cursor=9, outbox="outbox-1")
    with pytest.raises(CursorAhead):
        world.delivery(spec("a", RecordingSink(vault))).start()


@pytest.mark.parametrize("start", [Start.NOW, 2])
def test_a_new_lane_begins_where_it_says_and_its_sink_knows(world: World, start: Start | int) -> None:
    world.publish(3)
    begin = 3 if start is Start.NOW else 2
    sink = RecordingSink()
    delivery = world.running(spec("a", sink, start=start))
    world.publish(2, to=delivery)
    eventually(delivery, all_on_disk)
    assert sink.vault.batches == [begin, *range(begin + 1, 6)], "first a batch without rows that moves its cursor"
    assert [oseq for oseq, _, _ in sink.vault.rows] == [oseq for oseq in range(begin + 1, 6) for _ in range(3)]


@pytest.mark.parametrize("step", ["sink.committed", "cursor.write", "cursor.written"])
def test_a_new_lane_that_begins_now_is_not_taken_for_a_restored_sink_after_a_crash(world: World, step: str) -> None:
    world.publish(3)
    vault = Vault()
    with pytest.raises(Crash):
        world.delivery(spec("a", RecordingSink(vault), start=Start.NOW), hook=Dying(step)).start()
    delivery = world.running(spec("a", RecordingSink(vault), start=Start.NOW))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    assert [oseq for oseq, _, _ in vault.rows] == [4, 4, 4]


def test_a_new_lane_that_begins_now_must_be_reachable(world: World) -> None:
    world.publish(3)
    sink = RecordingSink()
    sink.down = transient()
    with pytest.raises(Transient, match="is new"):
        world.delivery(spec("a", sink, start=Start.NOW)).start()
    assert world.shelf.kept == {}


def test_a_new_lane_that_asks_for_what_is_gone_is_refused_with_the_list(world: World) -> None:
    deliver(world, Vault(), 3)
    with pytest.raises(NotRetained) as refused:
        world.delivery(spec("b", RecordingSink())).start()
    assert refused.value.context["missing"] == (1, 3)


@pytest.mark.req("D6", "D17")
def test_a_sink_that_is_away_at_the_start_joins_later_and_holds_nobody(world: World) -> None:
    world.publish(2)
    away, well = RecordingSink(), RecordingSink()
    away.down = transient()
    delivery = world.running(spec("a", away), spec("b", well))
    eventually(delivery, lambda status: status.lanes["b"].cursor == 2)
    assert (lane(delivery).state, lane(delivery).cursor) == (LaneState.FROZEN, 0)
    away.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert away.vault.batches == [1, 2]


def test_a_sink_opened_late_that_has_more_than_we_had_recorded_is_not_sent_it_again(world: World) -> None:
    world.publish(3)
    keep_everything(world)
    vault = Vault(cursor=2, batches=[1, 2], outbox="outbox-1")
    sink = RecordingSink(vault)
    sink.down = transient()
    delivery = world.running(spec("a", sink))
    sink.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.calls.delivered == [(3, 3)]


def test_the_cursor_of_a_sink_opened_late_is_the_place_before_the_next_batch(world: World) -> None:
    """Also when that number was voided by a rollback, and no batch has it any more."""
    world.publish(3)
    world.outbox.published = [batch for batch in world.outbox.published if batch.oseq != 2]
    vault = Vault(cursor=2, batches=[1, 2], outbox="outbox-1")
    sink = RecordingSink(vault)
    sink.down = transient()
    delivery = world.running(spec("a", sink))
    sink.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert vault.batches == [1, 2, 3]


def test_a_lane_with_a_backlog_says_that_it_catches_up(world: World) -> None:
    world.publish(2)
    seen: list[LaneState] = []
    delivery = world.running(spec("a", RecordingSink(before=lambda _: seen.append(lane(world.lives[-1]).state))))
    world.publish(1, to=delivery)
    eventually(delivery, all_on_disk)
    assert seen[:2] == [LaneState.CATCHING_UP] * 2
    assert seen[2] is LaneState.RUNNING


def test_a_start_waits_only_so_long_for_a_sink_that_hangs(world: World) -> None:
    world.publish(1)
    go_on = threading.Event()

    class Hanging(RecordingSink):
        def open(self, identity: LaneIdentity) -> None:
            assert go_on.wait(20)
            super().open(identity)

    hanging = Hanging()
    starting = world.delivery(spec("a", hanging), spec("b", RecordingSink()))
    thread = threading.Thread(target=starting.start)
    thread.start()
    world.clock.wait_for_sleepers()
    world.clock.advance(2.0)
    thread.join(20)
    eventually(starting, lambda status: status.lanes["b"].cursor == 1)
    go_on.set()
    eventually(starting, all_on_disk)


@pytest.mark.parametrize(
    "error",
    [fatal(), Rejected("No.", remedy="Mend it."), PermissionError(errno.EACCES, "Permission denied"), ValueError("no")],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("required", [True, False])
def test_a_sink_that_cannot_be_opened_freezes_its_lane_only_until_somebody_mended_it(
    world: World, error: Exception, required: bool
) -> None:
    sink = RecordingSink()
    sink.down = error
    delivery = world.running(spec("a", sink, required=required), spec("b", RecordingSink()))
    world.publish(1, to=delivery)
    status = eventually(delivery, lambda status: status.lanes["b"].cursor == 1)
    assert status.lanes["a"].state is LaneState.FROZEN
    assert type(error).__name__ in str(status.lanes["a"].last_error)
    assert status.phase is DeliveryPhase.RUNNING
    sink.down = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.batches == [1]
    assert lane(delivery).state is LaneState.RUNNING


@pytest.mark.req("D3")
def test_a_sink_that_a_newer_owner_has_refuses_the_start(world: World) -> None:
    with pytest.raises(PipelineFenced):
        world.delivery(spec("a", RecordingSink(Vault(epoch=99)))).start()
    assert world.shelf.kept == {}, "no cursor was written"
