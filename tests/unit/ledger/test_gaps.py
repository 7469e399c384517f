"""A lane that is detached holds nothing back, and what its sink misses stays on record through restarts."""

from __future__ import annotations

import json

import pytest
from tests.unit.ledger.test_ledger import acknowledge, ledger_with, persist

from holdfast.ledger import Batch, Cursors, CursorsCodec, Gap, LaneSpec, Ledger, Quorum, Release, Resume
from holdfast.model.errors import CursorAhead, InvalidPolicy, LaneExists, NotRetained, UnknownLane
from holdfast.model.positions import Seq

A, B = LaneSpec("a"), LaneSpec("b", required=False)


def with_b_behind(batches: int = 3, b: int = 1) -> Ledger:
    """Lane a has everything, lane b only so many batches."""
    ledger = ledger_with(batches, A, B)
    acknowledge(ledger, "a", batches)
    acknowledge(ledger, "b", b)
    persist(ledger)
    return ledger


def restarted(ledger: Ledger, *, trimmed: int, last: int, sink_cursors: dict[str, int] | None = None) -> Ledger:
    batches = [Batch(oseq, {"s": Seq(oseq * 10)}) for oseq in range(trimmed + 1, last + 1)]
    known = Resume(ledger.cursors(), batches, last, trimmed, sink_cursors or {})
    return Ledger(sources=["s"], lanes=[A, B], known=known)


@pytest.mark.req("X14")
def test_a_detached_lane_holds_nothing_back_and_its_gap_is_on_record() -> None:
    ledger = with_b_behind()
    record = ledger.detach_lane("b")
    assert record.remaining == {"b": (2, 3)}
    assert Release(3) in persist(ledger)
    assert ledger.cursors().gaps == {"b": (Gap(1),)}


@pytest.mark.req("X14")
def test_it_stays_detached_after_a_restart() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    again = restarted(ledger, trimmed=3, last=3)
    assert set(again.lanes) == {"a"}
    assert again.is_detached("b")
    assert again.cursors().gaps == {"b": (Gap(1),)}


@pytest.mark.parametrize(
    ("sink_cursor", "had", "gap"),
    [
        pytest.param(None, None, Gap(1, 3), id="a sink without a cursor"),
        pytest.param(3, 1, Gap(1, 3), id="a sink whose cursor was moved to where the outbox begins"),
        pytest.param(3, 3, Gap(1, 3), id="a crash came after the cursor was moved"),
        pytest.param(3, 0, Gap(0, 3), id="a sink that was replaced by an empty one"),
        pytest.param(4, 2, Gap(1, 4), id="a sink that has more than the outbox begins with"),
    ],
)
def test_it_is_attached_where_the_outbox_still_is(sink_cursor: int | None, had: int | None, gap: Gap) -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    persist(ledger)
    ledger.create(4, {})
    start = ledger.attach_lane(B, sink_cursor=sink_cursor, had=had)
    assert start.delivered == gap.through == ledger.lanes["b"].delivered
    assert list(ledger.lanes["b"].queued) == [oseq for oseq in [4] if oseq > start.delivered]
    assert ledger.cursors().gaps == {"b": (gap,)}


def test_a_second_gap_stands_beside_the_first() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    persist(ledger)
    ledger.attach_lane(B)
    for oseq in (4, 5):
        ledger.create(oseq, {})
    acknowledge(ledger, "b")
    ledger.detach_lane("b")
    assert ledger.cursors().gaps == {"b": (Gap(1, 3), Gap(4))}


def test_a_lane_that_missed_nothing_has_no_gap() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    ledger.attach_lane(B)
    assert ledger.cursors().gaps == {"b": ()}
    assert list(ledger.lanes["b"].queued) == [2, 3]


def test_a_sink_whose_cursor_lies_before_what_is_kept_is_not_attached() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    persist(ledger)
    with pytest.raises(NotRetained):
        ledger.attach_lane(B, sink_cursor=1)
    with pytest.raises(CursorAhead):
        ledger.attach_lane(B, sink_cursor=9)
    assert ledger.is_detached("b")


def test_what_is_not_detached_cannot_be_attached() -> None:
    ledger = with_b_behind()
    for spec in (B, LaneSpec("c")):
        with pytest.raises(UnknownLane):
            ledger.attach_lane(spec)


def test_an_attached_lane_counts_once_committed_lies_in_what_it_has_since() -> None:
    ledger = ledger_with(3, A, B, LaneSpec("c"))
    ledger.change_policy(Quorum(2))
    acknowledge(ledger, "a", 3)
    acknowledge(ledger, "c", 3)
    persist(ledger)
    ledger.detach_lane("b")
    persist(ledger)
    ledger.create(4, {})
    ledger.attach_lane(B)
    acknowledge(ledger, "b")
    assert ledger.committed == 3
    acknowledge(ledger, "a")
    assert ledger.committed == 4


def test_the_name_of_a_detached_lane_is_taken() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    with pytest.raises(LaneExists):
        ledger.add_lane(B)


def test_a_lane_that_the_policy_needs_is_not_detached() -> None:
    ledger = ledger_with(1, A, B)
    ledger.change_policy(Quorum(2))
    assert not ledger.can_do_without("b")
    with pytest.raises(InvalidPolicy):
        ledger.detach_lane("b")
    assert ledger.cursors().gaps == {}


def test_a_sink_that_is_removed_takes_its_gaps_along() -> None:
    ledger = with_b_behind()
    ledger.detach_lane("b")
    ledger.remove_lane("b")
    assert ledger.cursors().gaps == {}


def test_gaps_are_stored_and_cursors_from_before_there_were_any_are_read() -> None:
    codec = CursorsCodec()
    cursors = Cursors({"a": 9}, committed=9, gaps={"b": (Gap(1, 3), Gap(4))})
    assert codec.decode(codec.encode(cursors)) == cursors
    older = json.loads(codec.encode(Cursors({"a": 9}, committed=9)))
    del older["gaps"]
    assert codec.decode(json.dumps(older).encode()) == Cursors({"a": 9}, committed=9)
