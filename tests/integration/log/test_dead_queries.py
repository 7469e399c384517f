"""Lists, filters, states and reviews of dead letters."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterFilter, DeadLetterLog, EntryState, Fate
from holdfast.log.dead_values import DONE, NEW, Where
from tests.support.log_work import entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(minute: int) -> datetime:
    return NOON + timedelta(minutes=minute)


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[DeadLetterLog]:
    with DeadLetterLog.open(tmp_path, epoch=1, clock=lambda: NOON) as log:
        log.put([entry(1, time=at(1)), entry(2, time=at(2), error_kind="Poison", error_code="HF-403")])
        log.put([entry(3, time=at(3), stage="sink:b"), entry(4, time=at(4), stage="step:parse", oseq=0)])
        log.mark(DeadLetterFilter(ids={entry(1).entry_id}), EntryState.ACKED)
        yield log


@pytest.mark.parametrize(
    ("chosen", "ordinals"),
    [
        (DeadLetterFilter(), [1, 2, 3, 4]),
        (DeadLetterFilter(kinds={"Poison"}), [2]),
        (DeadLetterFilter(stages={"sink:b", "step:parse"}), [3, 4]),
        (DeadLetterFilter(sinks={"b"}), [3]),
        (DeadLetterFilter(sinks={"b"}, stages={"step:parse"}), [3, 4]),
        (DeadLetterFilter(since=at(2)), [2, 3, 4]),
        (DeadLetterFilter(until=at(2)), [1]),
        (DeadLetterFilter(since=at(2), until=at(4), kinds={"Rejected"}), [3]),
        (DeadLetterFilter(states=NEW), [2, 3, 4]),
        (DeadLetterFilter(states=DONE), [1]),
        (DeadLetterFilter(ids={entry(2).entry_id}), [2]),
        (DeadLetterFilter(kinds={"Unheard"}), []),
    ],
    ids=[
        "all",
        "kind",
        "stages",
        "sink",
        "sink or stage",
        "since",
        "until",
        "between, of a kind",
        "new",
        "done",
        "one",
        "none",
    ],
)
def test_a_filter_means_those_for_which_all_of_it_holds(
    dead: DeadLetterLog, chosen: DeadLetterFilter, ordinals: list[int]
) -> None:
    assert [found.ordinal for found in dead.select(chosen)] == ordinals
    assert sum(dead.counts(chosen).values()) == len(ordinals)


def test_a_limit_counts_what_is_meant_and_not_what_is_there(dead: DeadLetterLog) -> None:
    first, *_ = dead.select(DeadLetterFilter(states=NEW), limit=1)
    assert first.ordinal == 2
    (second,) = dead.select(DeadLetterFilter(states=NEW), after=first.number, limit=1)
    assert second.ordinal == 3


def test_a_list_says_what_an_entry_is_about(dead: DeadLetterLog) -> None:
    (found,) = dead.select(DeadLetterFilter(kinds={"Poison"}))
    assert (found.number, found.entry_id, found.time) == (2, entry(2).entry_id, at(2))
    assert (found.stage, found.oseq, found.kind, found.code, found.state) == (
        "sink:a",
        7,
        "Poison",
        "HF-403",
        EntryState.NEW,
    )


def test_entries_are_counted_by_stage_and_kind(dead: DeadLetterLog) -> None:
    assert dead.counts() == {
        Where("sink:a", "Rejected"): 1,
        Where("sink:a", "Poison"): 1,
        Where("sink:b", "Rejected"): 1,
        Where("step:parse", "Rejected"): 1,
    }


def test_a_filter_without_states_takes_those_of_the_operation() -> None:
    assert DeadLetterFilter().about(NEW).states == NEW
    assert DeadLetterFilter(states=DONE).about(NEW).states == DONE


def test_a_state_is_there_after_a_restart(dead: DeadLetterLog, tmp_path: Path) -> None:
    dead.close()
    with DeadLetterLog.open(tmp_path, epoch=2) as again:
        assert [found.state for found in again.select()] == [EntryState.ACKED, *[EntryState.NEW] * 3]
        assert (again.status().kept, again.status().new) == (4, 3)


def test_a_review_shows_what_is_new_since_the_last_one_by_stage_and_kind(dead: DeadLetterLog, tmp_path: Path) -> None:
    review = dead.review()
    assert review.since is None
    assert [(group.count, group.example.ordinal) for group in review.groups] == [(1, 2), (1, 3), (1, 4)]
    assert dead.review() == review, "to look is not to have looked"
    dead.put([entry(5, stage="sink:b"), entry(6, stage="sink:b")])
    dead.note_review(review)
    dead.close()
    with DeadLetterLog.open(tmp_path, epoch=2) as again:
        review = again.review()
        assert (review.since, [(group.count, group.example.ordinal) for group in review.groups]) == (NOON, [(2, 5)])


def test_a_review_tells_of_those_that_went_before_anybody_looked(dead: DeadLetterLog) -> None:
    dead.note_review(dead.review())
    dead.remove(DeadLetterFilter(ids={entry(3, stage="sink:b").entry_id}))
    dead.put([entry(5), entry(6)])
    dead.remove(DeadLetterFilter(ids={entry(5).entry_id}))
    assert dead.review().unseen == {Fate.PURGED: 1}


def test_an_entry_that_goes_while_it_is_looked_at_is_left_out(dead: DeadLetterLog) -> None:
    listed = dead.select()
    dead.remove(DeadLetterFilter(kinds={"Poison"}))
    assert [each.ordinal for each, _ in dead.read(listed)] == [1, 3, 4]
