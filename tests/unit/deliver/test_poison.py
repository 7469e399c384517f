"""Rows that a sink refuses: found, recorded before anything moves, and never sent again."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.support.deliver_faults import Dying, Errors, transient
from tests.support.deliver_world import World, all_on_disk, eventually, lane, spec

from holdfast.deliver import DeliveryPhase, LaneState, PoisonUnit, SinkBatch
from holdfast.ledger import Required
from holdfast.model.errors import LogFull, Rejected
from holdfast.model.steps import Step
from holdfast.testing import RecordingSink
from holdfast.testing.recording import Row


def ids(*bad: str) -> object:
    """Refuses the rows with these ids."""
    return lambda row: row["id"] in bad


@pytest.mark.req("D9")
def test_bad_rows_are_dead_letters_and_good_rows_are_delivered_in_order(world: World) -> None:
    world.publish(1, size=100)
    sink = RecordingSink(refuses=ids("1-7", "1-50"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink))
    status = eventually(delivery, all_on_disk).lanes["a"]
    assert sink.vault.values("id") == [f"1-{at}" for at in range(100) if at not in (7, 50)]
    assert world.dead.places("sink:a") == [(1, 7), (1, 50)]
    assert (status.rows_read, status.rows_out, status.rows_dead) == (100, 98, 2)
    assert (status.delivered, status.rejected) == (0, 1)


def test_few_probes_find_one_bad_row_in_many(world: World) -> None:
    world.publish(1, size=1000)
    sink = RecordingSink(refuses=ids("1-617"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert len(sink.calls.probed) <= 21
    assert len(sink.calls.delivered) == 2


@pytest.mark.req("X8")
@pytest.mark.parametrize("keeps_cursor", [True, False])
def test_a_batch_that_is_all_bad_moves_the_cursor_of_a_sink_that_has_one(world: World, keeps_cursor: bool) -> None:
    world.publish(2)
    sink = RecordingSink(refuses=ids("1-0", "1-1", "1-2"), keeps_cursor=keeps_cursor)  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert world.dead.places("sink:a") == [(1, 0), (1, 1), (1, 2)]
    assert sink.vault.values("id") == ["2-0", "2-1", "2-2"]
    assert sink.vault.batches == ([1, 2] if keeps_cursor else [2])


@pytest.mark.req("K9")
def test_an_exception_that_nobody_translated_is_dead_lettered_and_never_dropped(world: World) -> None:
    world.publish(1)

    def explode(row: Row) -> bool:
        if row["id"] == "1-1":
            raise ZeroDivisionError("amount / 0")
        return False

    sink = RecordingSink(refuses=explode)
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    (entry,) = world.dead.recorded.values()
    assert (entry.error_kind, entry.error_code, entry.ordinal) == ("ZeroDivisionError", "foreign", 1)
    assert sink.vault.values("id") == ["1-0", "1-2"]


def test_a_row_that_is_bad_only_beside_another_is_found(world: World) -> None:
    world.outbox.add(pa.table({"id": ["x", "y", "x", "z"]}))
    sink = RecordingSink()

    def refuse_doubles(batch: SinkBatch) -> None:
        seen = batch.rows.column("id").to_pylist()
        if len(seen) != len(set(seen)):
            raise Rejected("Two rows have one key.", remedy="Mend the rows.")

    sink._refuse_bad_rows = refuse_doubles  # type: ignore[method-assign]
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert sink.vault.values("id") == ["x", "y", "z"]
    assert world.dead.places("sink:a") == [(1, 2)]


@pytest.mark.req("X8", "G9")
def test_a_batch_that_probes_take_and_delivery_refuses_is_rejected_whole(world: World) -> None:
    world.publish(2)
    no = Rejected("The request is too large.", remedy="Send less.")
    sink = RecordingSink(before=Errors(no, no, no))
    delivery = world.running(spec("a", sink))
    eventually(delivery, all_on_disk)
    assert world.dead.places("sink:a") == [(1, 0), (1, 1), (1, 2)]
    assert sink.vault.values("id") == ["2-0", "2-1", "2-2"]


@pytest.mark.req("G9")
def test_a_sink_that_refuses_a_batch_without_rows_is_asked_once_in_each_cool_down(world: World) -> None:
    world.publish(1, size=0)
    sink = RecordingSink(before=Errors(*[Rejected("Nothing in it.", remedy="Send rows.")] * 3))
    delivery = world.running(spec("a", sink))
    status = eventually(delivery, lambda status: status.lanes["a"].state is LaneState.FROZEN)
    assert "sent no row" in str(status.lanes["a"].last_error)
    for asked in (1, 2, 3):
        world.clock.wait_for_sleepers()
        assert len(sink.calls.delivered) == asked
        world.clock.advance(10)
    eventually(delivery, all_on_disk)


def transactions() -> pa.Table:
    return pa.table(
        {
            "id": ["a1", "a2", "b1", "b2", "b3", "c1"],
            "tx_id": ["a", "a", "b", "b", "b", "c"],
            "tx_end": [False, True, False, False, True, True],
        }
    )


def test_a_bad_row_takes_its_transaction_with_it_if_so_declared(world: World) -> None:
    world.outbox.add(transactions())
    sink = RecordingSink(refuses=ids("b2"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink, poison_unit=PoisonUnit.TRANSACTION))
    eventually(delivery, all_on_disk)
    assert sink.vault.values("id") == ["a1", "a2", "c1"]
    assert world.dead.places("sink:a") == [(1, 2), (1, 3), (1, 4)]


def test_a_transaction_that_was_recorded_in_part_is_rejected_whole_after_a_restart(world: World) -> None:
    world.outbox.add(transactions())
    sink = RecordingSink(refuses=ids("b2"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink, poison_unit=PoisonUnit.TRANSACTION))
    eventually(delivery, all_on_disk)
    world.dead.recorded = {key: entry for key, entry in world.dead.recorded.items() if entry.ordinal == 3}
    world.shelf.kept.clear()
    world.outbox.forgotten, world.outbox.tables[1] = 0, transactions()
    delivery.abandon()
    again = RecordingSink()
    delivery = world.running(spec("a", again, poison_unit=PoisonUnit.TRANSACTION))
    eventually(delivery, all_on_disk)
    assert again.vault.values("id") == ["a1", "a2", "c1"]
    assert world.dead.places("sink:a") == [(1, 2), (1, 3), (1, 4)]


@pytest.mark.req("X15")
def test_the_ordinal_is_the_place_in_the_published_batch_also_behind_a_route(world: World) -> None:
    world.outbox.add(pa.table({"id": ["p", "q", "r", "s"], "route": ["eu", "us", "eu", "us"]}))
    sink = RecordingSink(refuses=ids("s"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink, only="us"))
    status = eventually(delivery, all_on_disk).lanes["a"]
    assert world.dead.places("sink:a") == [(1, 3)]
    assert sink.vault.values("id") == ["q"]
    assert (status.rows_read, status.rows_out, status.rows_dead, status.rows_filtered) == (4, 1, 1, 2)


def test_a_sink_that_goes_away_while_rows_are_probed_blames_none_of_them(world: World) -> None:
    world.publish(1, size=20)
    sink = RecordingSink(refuses=ids("1-4"))  # type: ignore[arg-type]
    probe, calls = sink.probe, iter(range(1000))

    def flaky(batch: SinkBatch) -> None:
        if next(calls) % 2 == 0:
            raise transient()
        probe(batch)

    sink.probe = flaky  # type: ignore[method-assign]
    delivery = world.running(spec("a", sink))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert world.dead.places("sink:a") == [(1, 4)]


@pytest.mark.req("X15", "D10")
def test_dead_letters_that_cannot_be_written_hold_the_cursors(world: World) -> None:
    world.publish(1)
    world.dead.failing = LogFull("The disk is full.", remedy="Make room.")
    sink = RecordingSink(refuses=ids("1-1"))  # type: ignore[arg-type]
    delivery = world.running(spec("a", sink), spec("b", RecordingSink()), policy=Required())
    world.clock.wait_for_sleepers()
    status = eventually(delivery, lambda status: status.lanes["b"].cursor == 1)
    assert (status.lanes["a"].cursor, sink.vault.cursor) == (0, 0)
    assert status.lanes["a"].last_error is not None
    assert status.lanes["a"].last_error.code == "HF-503"
    assert status.lanes["a"].state is LaneState.FROZEN
    world.dead.failing = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.values("id") == ["1-0", "1-2"]
    assert world.dead.places("sink:a") == [(1, 1)]


@pytest.mark.parametrize("step", [Step.SINK_COMMIT, Step.SINK_COMMITTED, Step.CURSOR_WRITE])
def test_a_resumed_batch_never_sends_rows_that_were_rejected_before(world: World, step: Step) -> None:
    """They are never sent again even if the sink would take them now."""
    world.publish(1)
    sink = RecordingSink(refuses=ids("1-1"))  # type: ignore[arg-type]
    first = world.delivery(spec("a", sink), hook=Dying(step, 2 if step is Step.CURSOR_WRITE else 1))
    first.start()
    eventually(first, lambda status: status.phase is DeliveryPhase.CRASHED)
    first.abandon()
    again = RecordingSink(sink.vault)
    second = world.running(spec("a", again))
    eventually(second, all_on_disk)
    assert again.vault.values("id") == ["1-0", "1-2"]
    assert world.dead.places("sink:a") == [(1, 1)]
    status = lane(second)
    assert (status.delivered, status.rejected) == ((0, 1) if status.offered else (0, 0)), "rejected again, not acked"


def test_rows_are_recorded_before_the_sink_moves_over_them(world: World) -> None:
    world.publish(1)
    order: list[str] = []
    sink = RecordingSink(refuses=ids("1-1"), after=lambda _: order.append("delivered"))  # type: ignore[arg-type]

    def note(step: str, /) -> None:
        if step == Step.DEAD_LETTER_WRITTEN:
            order.append("recorded")

    delivery = world.running(spec("a", sink), hook=note)
    eventually(delivery, all_on_disk)
    assert order == ["recorded", "delivered"]


@pytest.mark.req("D10")
def test_no_cursor_is_written_past_a_rejection_that_the_dead_letters_do_not_have(world: World) -> None:
    world.publish(1)
    world.dead.put = lambda entries: len(entries)  # type: ignore[method-assign]
    delivery = world.running(spec("a", RecordingSink(refuses=ids("1-1"))))  # type: ignore[arg-type]
    status = eventually(delivery, lambda status: status.phase is DeliveryPhase.FAILED)
    assert "the dead letters have no row of it" in (status.failure or "")
    assert world.on_disk().delivered == {"a": 0}


def test_probing_ends_when_delivery_stops(world: World) -> None:
    world.publish(1, size=64)
    sink = RecordingSink(refuses=lambda _: True)
    probe = sink.probe

    def stop_inside(batch: SinkBatch) -> None:
        with delivery._core.changing():
            delivery._core.is_abandoned = True
        probe(batch)

    sink.probe = stop_inside  # type: ignore[method-assign]
    delivery = world.running(spec("a", sink))
    eventually(delivery, lambda _: delivery._crew.running("a") == [])
    assert len(sink.calls.probed) == 1
    assert lane(delivery).state is LaneState.ENDED
