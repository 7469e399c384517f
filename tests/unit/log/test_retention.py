"""What a log may forget: what every reader is done with, and nothing that is to be kept longer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from holdfast.log.retention import Forgotten, Item, forgettable
from holdfast.log.times import milliseconds
from holdfast.log.values import Keep

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def chunks(*ages: int) -> list[Item]:
    """Chunks of ten events and 100 bytes each, so many seconds old."""
    return [
        Item(10 * number, 100, milliseconds(NOW - timedelta(seconds=age))) for number, age in enumerate(ages, start=1)
    ]


def decided(items: list[Item], needed_from: int, keep: Keep | None = None) -> Forgotten:
    total = sum(item.nbytes for item in items)
    return forgettable(items, after=0, needed_from=needed_from, total=total, keep=keep, now=NOW)


def test_a_chunk_goes_when_all_of_it_is_done_with() -> None:
    assert decided(chunks(9, 9, 9), needed_from=21) == Forgotten(20, 200)


def test_a_chunk_stays_when_its_last_event_is_needed() -> None:
    assert decided(chunks(9, 9, 9), needed_from=20) == Forgotten(10, 100)


def test_what_is_younger_than_the_age_stays() -> None:
    assert decided(chunks(90, 50, 10), needed_from=100, keep=Keep(age=timedelta(seconds=60))) == Forgotten(10, 100)


def test_the_newest_stay_up_to_the_size() -> None:
    assert decided(chunks(9, 9, 9), needed_from=100, keep=Keep(nbytes=150)) == Forgotten(20, 200)


def test_a_bound_never_overrides_a_reader() -> None:
    assert decided(chunks(90, 90), needed_from=1, keep=Keep(age=timedelta(seconds=1), nbytes=0)) == Forgotten(0, 0)


@given(st.lists(st.integers(0, 100), max_size=6), st.integers(1, 70), st.integers(0, 100), st.integers(0, 700))
def test_keeping_longer_never_forgets_more(ages: list[int], needed_from: int, age: int, nbytes: int) -> None:
    items = chunks(*sorted(ages, reverse=True))
    kept = decided(items, needed_from, Keep(timedelta(seconds=age), nbytes))
    assert kept.through <= decided(items, needed_from).through < max(needed_from, 1)
