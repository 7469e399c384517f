"""The contract of a sink, over every sink there is: what is delivered is there once, in order, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.deliver.contract import Ordering, Tier
from holdfast.model.errors import CursorMoved, DeliveryError, Fatal, Rejected
from holdfast.model.steps import Step
from tests.support.sink_lanes import (
    SCHEMA,
    Lanes,
    batch_of,
    empty_batch,
    identity,
    part_of,
    rows_of,
    seqs_of,
)

if TYPE_CHECKING:
    from holdfast.deliver.contract import Sink, SinkBatch


def spoiled(oseq: int, *places: int) -> SinkBatch:
    """A batch of eight rows in which the rows at these places hold text that is no text."""
    rows = rows_of(oseq, 8)
    notes = [b"\xff\xfe" if place in places else b"fine" for place in range(8)]
    torn = pa.Array.from_buffers(pa.string(), 8, pa.array(notes, pa.binary()).buffers())
    return batch_of(oseq, rows.set_column(2, SCHEMA.field("note"), torn))


def refused_rows(sink: Sink, batch: SinkBatch) -> list[int]:
    """The ordinals of the rows that are refused alone, found by halving and probing as a lane does."""
    try:
        sink.probe(batch)
    except Rejected:
        half = batch.rows.num_rows // 2
        if not half:
            return [int(batch.ordinals[0].as_py())]
        rest = batch.rows.num_rows - half
        return refused_rows(sink, part_of(batch, 0, half)) + refused_rows(sink, part_of(batch, half, rest))
    return []


def test_batches_are_there_in_the_order_in_which_they_were_delivered(lanes: Lanes) -> None:
    sink = lanes.open()
    for oseq in (1, 2, 3):
        sink.deliver(batch_of(oseq))
    assert lanes.read().equals(pa.concat_tables([rows_of(1), rows_of(2), rows_of(3)]))


@pytest.mark.req("X5")
def test_the_same_batch_delivered_twice_changes_nothing(lanes: Lanes) -> None:
    sink = lanes.open()
    for oseq in (1, 1, 2, 2):
        sink.deliver(batch_of(oseq))
    assert lanes.seqs() == seqs_of(1, 2)


@pytest.mark.req("X5")
def test_a_batch_delivered_again_by_the_next_owner_changes_nothing(lanes: Lanes) -> None:
    lanes.open(epoch=1).deliver(batch_of(1))
    sink = lanes.open(epoch=2)
    sink.deliver(batch_of(1))
    sink.deliver(batch_of(2))
    assert lanes.seqs() == seqs_of(1, 2)


def test_a_batch_far_below_the_cursor_changes_nothing(owned: Lanes) -> None:
    sink = owned.open()
    for oseq in (1, 2, 3, 1):
        sink.deliver(batch_of(oseq))
    assert (owned.seqs(), sink.cursor()) == (seqs_of(1, 2, 3), 3)


def test_numbers_may_be_left_out_as_long_as_each_follows_on_the_last(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.deliver(batch_of(4, previous=0))
    sink.deliver(batch_of(9, previous=4))
    assert lanes.seqs() == seqs_of(4, 9)


def test_a_batch_that_does_not_follow_on_the_cursor_is_refused_naming_both_numbers(owned: Lanes) -> None:
    sink = owned.open()
    sink.deliver(batch_of(1))
    with pytest.raises(CursorMoved, match="at batch 1, but batch 3 follows on batch 2"):
        sink.deliver(batch_of(3))
    assert (owned.seqs(), sink.cursor()) == (seqs_of(1), 1)


def test_the_cursor_is_read_back_by_the_next_owner(owned: Lanes) -> None:
    first = owned.open(epoch=1)
    assert first.cursor() == 0
    for oseq in (1, 2):
        first.deliver(batch_of(oseq))
    assert (first.cursor(), owned.open(epoch=2).cursor()) == (2, 2)


@pytest.mark.parametrize("oseq", [1, 17])
def test_an_empty_batch_of_any_number_moves_the_cursor_and_writes_nothing(owned: Lanes, oseq: int) -> None:
    sink = owned.open()
    sink.deliver(empty_batch(oseq, previous=0))
    assert (sink.cursor(), owned.place.is_untouched()) == (oseq, True)
    sink.deliver(batch_of(oseq + 1))
    assert owned.seqs() == seqs_of(oseq + 1)


def test_an_empty_batch_leaves_no_file(lanes: Lanes) -> None:
    lanes.open().deliver(empty_batch(1))
    assert lanes.place.is_untouched()


def test_lanes_and_outboxes_have_cursors_of_their_own(owned: Lanes) -> None:
    owned.open(lane="archive").deliver(batch_of(1))
    other = owned.open(lane="report")
    assert other.cursor() == 0
    other.deliver(batch_of(5, previous=0))
    replaced = owned.open(lane="archive", outbox="0d9b6f0e-0000-4000-8000-000000000000")
    assert replaced.cursor() == 0


def test_a_sink_restored_from_an_older_copy_says_its_older_cursor_and_takes_the_rest_again(owned: Lanes) -> None:
    sink = owned.open(epoch=1)
    sink.deliver(batch_of(1))
    owned.place.save()
    sink.deliver(batch_of(2))
    sink.close()
    owned.place.restore()
    sink = owned.open(epoch=2)
    assert sink.cursor() == 1
    sink.deliver(batch_of(2))
    assert owned.seqs() == seqs_of(1, 2)


def test_a_sink_that_is_closed_can_be_opened_again(lanes: Lanes) -> None:
    sink = lanes.open(epoch=1)
    sink.deliver(batch_of(1))
    sink.close()
    sink.close()
    sink.open(identity(epoch=1))
    sink.deliver(batch_of(2))
    assert lanes.seqs() == seqs_of(1, 2)


def test_a_sink_that_is_not_open_says_so(lanes: Lanes) -> None:
    with pytest.raises(Fatal, match="not open"):
        lanes.place.sink().deliver(batch_of(1))


def test_a_probe_leaves_nothing_behind(lanes: Lanes) -> None:
    sink = lanes.open()
    sink.probe(batch_of(1))
    assert (lanes.place.is_untouched(), sink.cursor() or 0) == (True, 0)
    sink.deliver(batch_of(1))
    sink.probe(batch_of(2))
    assert lanes.seqs() == seqs_of(1)


@pytest.mark.parametrize("bad", [(0,), (5,), (0, 3, 7), tuple(range(8))], ids=str)
def test_the_rows_that_are_refused_are_found_by_probing_halves(lanes: Lanes, bad: tuple[int, ...]) -> None:
    sink = lanes.open()
    batch = spoiled(1, *bad)
    assert refused_rows(sink, batch) == list(bad)


def test_a_batch_with_a_refused_row_is_refused_whole_and_taken_without_it(lanes: Lanes) -> None:
    sink = lanes.open()
    batch = spoiled(1, 2)
    with pytest.raises(Rejected, match=r"note|UTF"):
        sink.deliver(batch)
    assert (lanes.place.is_untouched(), sink.cursor() or 0) == (True, 0)
    sink.deliver(batch_of(1, batch.rows.filter(pa.array(place != 2 for place in range(8)))))
    assert lanes.seqs() == [seq for place, seq in enumerate(seqs_of(1, count=8)) if place != 2]


def test_a_column_that_no_sink_can_write_stops_the_lane_and_blames_no_row(lanes: Lanes) -> None:
    kinds = pa.UnionArray.from_sparse(pa.array([0] * 5, pa.int8()), [pa.array(range(5))])
    with pytest.raises(Fatal, match="cannot be written"):
        lanes.open().deliver(batch_of(1, rows_of(1).append_column("odd", kinds)))
    assert lanes.place.is_untouched()


def test_every_step_is_told_once_and_in_order(lanes: Lanes) -> None:
    told: list[str] = []
    sink = lanes.open(hook=told.append)
    sink.probe(batch_of(1))
    sink.deliver(batch_of(1))
    assert told == [Step.SINK_WRITE, Step.SINK_COMMIT, Step.SINK_COMMITTED]


@pytest.mark.parametrize("step", [Step.SINK_WRITE, Step.SINK_COMMIT])
def test_a_delivery_given_up_before_its_commit_leaves_nothing_and_can_be_repeated(lanes: Lanes, step: Step) -> None:
    class GivenUp(BaseException):
        pass

    def give_up_once(reached: str) -> None:
        if reached == step and not given_up:
            given_up.append(reached)
            raise GivenUp

    given_up: list[str] = []
    sink = lanes.open(hook=give_up_once)
    with pytest.raises(GivenUp):
        sink.deliver(batch_of(1))
    assert lanes.place.is_untouched()
    sink.deliver(batch_of(1))
    assert lanes.seqs() == seqs_of(1)


def test_what_a_sink_promises_is_said_in_code(lanes: Lanes) -> None:
    sink = lanes.place.sink()
    assert sink.kind
    assert (sink.tier is Tier.AT_LEAST_ONCE) == (sink.piece_rows is not None)
    keeps_cursor = lanes.open().cursor() is not None
    assert keeps_cursor == (sink.ordering is Ordering.ORDERED and sink.tier is Tier.EXACTLY_ONCE)


def test_every_refusal_is_an_error_that_a_lane_knows(lanes: Lanes) -> None:
    with pytest.raises(DeliveryError) as refusal:
        lanes.open().deliver(spoiled(1, 0))
    assert refusal.value.remedy
    assert refusal.value.kept
