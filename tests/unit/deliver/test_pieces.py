"""A sink that can take nothing back: batches come in pieces that are halved, each row once for who knows names."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.deliver_faults import Crash, Dying, Errors, transient, unknown
from tests.support.deliver_world import World, all_on_disk, eventually, lane, rows, spec

from holdfast.deliver import LaneState, OnExhausted, PoisonUnit, RetryPolicy, SinkBatch, Tier
from holdfast.deliver.pieces import Pieces
from holdfast.deliver.rows import parcel_of
from holdfast.model.errors import Rejected
from holdfast.model.steps import Step
from holdfast.testing import RecordingSink

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.testing import Vault
    from holdfast.testing.recording import Row


class PieceSink(RecordingSink):
    """Keeps every piece that it takes, and knows a piece that comes again by its name."""

    tier = Tier.AT_LEAST_ONCE

    def __init__(
        self,
        vault: Vault | None = None,
        *,
        rows: int = 1000,
        takes: int = 1000,
        refuses: Callable[[Row], bool] = lambda _: False,
        **how: Callable[[SinkBatch], None],
    ) -> None:
        super().__init__(vault, keeps_cursor=False, refuses=refuses, **how)
        self.piece_rows = rows
        self._takes = takes
        self.names: dict[tuple[int, int, int], list[object]] = {}
        self.doubled: list[object] = []

    def probe(self, batch: SinkBatch) -> None:
        raise AssertionError("what cannot be taken back is not tried")

    def _refuse_bad_rows(self, batch: SinkBatch) -> None:
        if batch.rows.num_rows > self._takes:
            raise Rejected("It is too large.", remedy="Send less.")
        super()._refuse_bad_rows(batch)

    def _apply(self, batch: SinkBatch) -> None:
        ordinals = batch.ordinals.to_pylist()
        name, sent = (batch.oseq, ordinals[0], ordinals[-1]), batch.rows.column("id").to_pylist()
        if name in self.names:
            assert self.names[name] == sent, "other rows came under the same name"
            return
        self.names[name] = sent
        self.doubled += [row for row in sent if row in self.vault.values("id")]
        super()._apply(batch)

    @property
    def sizes(self) -> list[int]:
        return [count for _, count in self.calls.delivered]


def bad(*ids: str) -> Callable[[Row], bool]:
    return lambda row: row["id"] in ids


def test_a_batch_that_fits_is_one_piece(world: World) -> None:
    world.publish(2, size=10)
    sink = PieceSink()
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert sink.sizes == [10, 10]


def test_a_batch_larger_than_a_piece_is_cut_without_asking(world: World) -> None:
    world.publish(1, size=10)
    sink = PieceSink(rows=3)
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert sink.sizes == [2, 3, 2, 3]
    assert sink.vault.values("id") == [f"1-{at}" for at in range(10)]


def test_single_rows_are_single_pieces(world: World) -> None:
    world.publish(1, size=5)
    sink = PieceSink(rows=1)
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert sink.sizes == [1] * 5


@pytest.mark.req("K13")
def test_a_batch_that_is_refused_as_too_large_is_halved_until_it_fits(world: World) -> None:
    world.publish(1, size=16)
    sink = PieceSink(takes=5)
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert sink.sizes == [16, 8, 4, 4, 8, 4, 4]
    assert sink.vault.values("id") == [f"1-{at}" for at in range(16)]
    assert not world.dead.recorded


@pytest.mark.req("K13", "G9")
def test_bad_rows_are_dead_letters_and_good_rows_are_there_once_and_in_order(world: World) -> None:
    world.publish(1, size=100)
    sink = PieceSink(refuses=bad("1-7", "1-50"))
    status = eventually(world.running(spec("a", sink)), all_on_disk).lanes["a"]
    assert sink.vault.values("id") == [f"1-{at}" for at in range(100) if at not in (7, 50)]
    assert world.dead.places("sink:a") == [(1, 7), (1, 50)]
    assert (status.rows_read, status.rows_out, status.rows_dead) == (100, 98, 2)
    assert len(sink.sizes) <= 2 * 2 * 7 + 1
    assert sink.doubled == []


def test_a_batch_that_is_all_bad_is_over_when_every_row_is_a_dead_letter(world: World) -> None:
    world.publish(2)
    sink = PieceSink(refuses=bad("1-0", "1-1", "1-2"))
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert world.dead.places("sink:a") == [(1, 0), (1, 1), (1, 2)]
    assert sink.vault.values("id") == ["2-0", "2-1", "2-2"]


def test_an_empty_batch_is_no_piece(world: World) -> None:
    world.publish(1, size=0)
    world.publish(1)
    sink = PieceSink()
    eventually(world.running(spec("a", sink)), all_on_disk)
    assert sink.sizes == [3]


def test_a_transaction_is_never_cut_when_it_is_refused_as_a_whole(world: World) -> None:
    transactions = ["x", "x", "x", "y", "z", "z", "z", "z"]
    world.outbox.add(rows(1, 8, tx_id=transactions))
    sink = PieceSink(rows=2, refuses=bad("1-1"))
    eventually(world.running(spec("a", sink, poison_unit=PoisonUnit.TRANSACTION)), all_on_disk)
    assert world.dead.places("sink:a") == [(1, 0), (1, 1), (1, 2)]
    assert sink.vault.values("id") == ["1-3", "1-4", "1-5", "1-6", "1-7"]
    assert sink.sizes == [3, 1, 4]


@pytest.mark.parametrize("error", [transient, unknown])
def test_what_was_taken_is_not_sent_again_when_a_later_piece_fails(
    world: World, error: Callable[[], Exception]
) -> None:
    world.publish(1, size=8)
    failures = Errors(error(), error())

    def before(batch: SinkBatch) -> None:
        if batch.ordinals[0].as_py() == 4:
            failures(batch)

    sink = PieceSink(rows=2, before=before)
    delivery = world.running(spec("a", sink))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    starts = [ordinal for _, ordinal, _ in sink.vault.rows]
    assert starts == list(range(8))
    assert sink.sizes == [2, 2, 2, 2, 2, 2]


@pytest.mark.req("G9")
def test_what_a_budget_leaves_goes_to_the_dead_letters_without_what_was_taken(world: World) -> None:
    world.publish(1, size=8)

    def before(batch: SinkBatch) -> None:
        if batch.ordinals[0].as_py() >= 4:
            raise transient()

    sink = PieceSink(rows=2, refuses=bad("1-1"), before=before)
    how = {"on_exhausted": OnExhausted.DEAD_LETTER, "retry": RetryPolicy(base=0.1, cap=0.1, attempts=3)}
    delivery = world.running(spec("a", sink, **how))
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert sink.vault.values("id") == ["1-0", "1-2", "1-3"]
    assert world.dead.places("sink:a") == [(1, at) for at in (1, 4, 5, 6, 7)]
    status = lane(delivery)
    assert (status.rows_out, status.rows_dead) == (3, 5)


def test_a_piece_in_doubt_is_never_a_dead_letter(world: World) -> None:
    world.publish(1, size=4)
    sink = PieceSink(rows=2, after=Errors(*(unknown() for _ in range(5))))
    how = {"on_exhausted": OnExhausted.DEAD_LETTER, "retry": RetryPolicy(base=0.1, cap=0.1, attempts=3)}
    delivery = world.running(spec("a", sink, **how))
    world.clock.run_until(lambda: lane(delivery).state is LaneState.FROZEN)
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert not world.dead.recorded
    assert sink.vault.values("id") == ["1-0", "1-1", "1-2", "1-3"]


# Crashes


STEPS = [Step.SINK_WRITE, Step.SINK_COMMIT, Step.SINK_COMMITTED, Step.DEAD_LETTER_WRITE, Step.DEAD_LETTER_WRITTEN,
         Step.CURSOR_WRITE, Step.CURSOR_WRITTEN]  # fmt: skip


@pytest.mark.req("K13", "X5")
@pytest.mark.parametrize("occurrence", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_every_piece_comes_again_under_its_name(world: World, step: Step, occurrence: int) -> None:
    """A row that is a dead letter is never sent again, even to a sink that would take it by now."""
    world.publish(2, size=16)
    refused = {f"{oseq}-{at}" for oseq in (1, 2) for at in (3, 9, 10)}
    still_refused = set(refused)
    sink = PieceSink(rows=8, takes=6, refuses=lambda row: row["id"] in still_refused)
    for hook in (Dying(step, occurrence), Dying()):
        still_refused -= {f"{oseq}-{at}" for oseq, at in world.dead.places("sink:a")}
        delivery = world.delivery(spec("a", sink), hook=hook)
        try:
            delivery.start()
            eventually(delivery, lambda status, hook=hook: hook.died or all_on_disk(status))
        except Crash:
            assert hook.died
        delivery.abandon()
    expected = [f"{oseq}-{at}" for oseq in (1, 2) for at in range(16)]
    assert sink.doubled == []
    assert sink.vault.values("id") == [row for row in expected if row not in refused]
    assert sorted(world.dead.places("sink:a")) == [(oseq, at) for oseq in (1, 2) for at in (3, 9, 10)]


@pytest.mark.req("K13", "X5")
@settings(max_examples=300)
@given(st.data())
def test_the_same_way_is_taken_after_every_crash(data: st.DataObject) -> None:
    """Played without threads: lives of random length over what is in the dead letters and with the receiver."""
    count = data.draw(st.integers(1, 40))
    culprits = data.draw(st.sets(st.integers(0, count - 1)))
    fits, limit = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    parcel = parcel_of(pa.table({"n": list(range(count))}), only=None)
    random = Random(data.draw(st.integers(0, 1000)))
    received: dict[tuple[int, int], list[int]] = {}
    dead: set[int] = set()
    for life in range(6):
        pieces = Pieces.of(parcel, PoisonUnit.ROW, dead, limit)
        refused = culprits - dead  # who refused a row once may take it now: it is a dead letter all the same
        while (places := pieces.next()) is not None and (life == 5 or random.random() > 0.1):
            sent = list(places)
            if len(sent) > fits or refused & set(sent):
                if not pieces.halve():
                    dead |= set(sent)
                    pieces.done()
            else:
                assert received.setdefault((sent[0], sent[-1]), sent) == sent
                pieces.done()
    assert dead == culprits
    assert sorted(row for sent in received.values() for row in sent) == [n for n in range(count) if n not in culprits]


def test_pieces_that_are_left_are_all_that_was_not_sent() -> None:
    parcel = parcel_of(pa.table({"n": list(range(8))}), only=None)
    pieces = Pieces.of(parcel, PoisonUnit.ROW, {1}, 2)
    assert pieces.next() == range(1)
    pieces.done()
    assert pieces.next() == range(2, 4)
    assert [place for left in pieces.left() for place in left] == [2, 3, 4, 5, 6, 7]
