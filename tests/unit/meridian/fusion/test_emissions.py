"""What is told of windows, and what a receiver makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.emissions import Kind, Meeting, Telling, Word

AB, AC = Meeting(7, "a", "b"), Meeting(7, "a", "c")
FINDINGS = st.dictionaries(
    st.builds(Meeting, st.integers(0, 2), st.just("a"), st.sampled_from("bcd")), st.integers(0, 3), max_size=6
)


def brief(words: Iterable[Word[int]]) -> list[tuple[Kind, str, int, int]]:
    return [(word.kind, word.meeting.b, word.sequence, word.finding) for word in words]


@pytest.mark.req("LAT-02")
def test_the_first_word_has_number_zero_and_a_correction_takes_it_back_first() -> None:
    telling, words = Telling[int]().told([7], {AB: 10})
    assert brief(words) == [(Kind.INSERT, "b", 0, 10)]
    telling, words = telling.told([7], {AB: 11})
    assert brief(words) == [(Kind.RETRACT, "b", 0, 10), (Kind.INSERT, "b", 1, 11)]


def test_what_still_holds_is_not_said_again() -> None:
    telling, _ = Telling[int]().told([7], {AB: 10})
    assert telling.told([7], {AB: 10})[1] == []


def test_what_is_near_enough_to_what_was_said_is_not_said_until_it_is_to_be_exact() -> None:
    def near(before: int, now: int) -> bool:
        return abs(before - now) < 3

    telling, _ = Telling[int]().told([7], {AB: 10}, near)
    telling, words = telling.told([7], {AB: 12}, near)
    assert words == []
    assert brief(telling.told([7], {AB: 13}, near)[1])[-1] == (Kind.INSERT, "b", 1, 13)
    assert brief(telling.told([7], {AB: 12})[1]) == [(Kind.RETRACT, "b", 0, 10), (Kind.INSERT, "b", 1, 12)]


def test_a_pair_that_is_no_longer_close_is_taken_back_and_may_come_again_under_a_higher_number() -> None:
    telling, _ = Telling[int]().told([7], {AB: 10, AC: 1})
    telling, words = telling.told([7], {AC: 1})
    assert brief(words) == [(Kind.RETRACT, "b", 0, 10)]
    telling, words = telling.told([7], {AC: 1})
    assert words == []
    telling, words = telling.told([7], {AB: 10, AC: 1})
    assert brief(words) == [(Kind.INSERT, "b", 1, 10)]


def test_a_window_that_is_not_looked_at_keeps_its_word() -> None:
    telling, _ = Telling[int]().told([7], {AB: 10})
    assert telling.told([8], {})[1] == []


def test_what_was_said_of_windows_that_are_gone_is_forgotten() -> None:
    telling, _ = Telling[int]().told([7, 8], {AB: 10, Meeting(8, "a", "b"): 1})
    assert set(telling.without(8).said) == {Meeting(8, "a", "b")}


@given(st.lists(FINDINGS, min_size=1, max_size=8), st.integers())
@pytest.mark.req("LAT-05")
def test_whoever_keeps_the_highest_number_ends_with_the_truth_in_whatever_order_words_come(
    course: list[dict[Meeting, int]], seed: int
) -> None:
    telling, words = Telling[int](), list[Word[int]]()
    for found in course:
        telling, more = telling.told(range(3), found)
        words += more
    heard = [*words, *words]
    Random(seed).shuffle(heard)
    kept: dict[Meeting, tuple[int, bool, int]] = {}
    for word in heard:
        rank = (word.sequence, word.kind is Kind.RETRACT, word.finding)
        kept[word.meeting] = max(kept.get(word.meeting, rank), rank)
    assert {meeting: finding for meeting, (_, is_gone, finding) in kept.items() if not is_gone} == course[-1]


@given(st.lists(FINDINGS, min_size=1, max_size=8))
@pytest.mark.req("LAT-02")
def test_numbers_rise_by_one_and_every_word_but_the_last_is_taken_back(course: list[dict[Meeting, int]]) -> None:
    telling, words = Telling[int](), list[Word[int]]()
    for found in course:
        telling, more = telling.told(range(3), found)
        words += more
    for meeting in {word.meeting for word in words}:
        of_it = [(word.kind, word.sequence) for word in words if word.meeting == meeting]
        expected = [(kind, number) for number in range(len(of_it)) for kind in (Kind.INSERT, Kind.RETRACT)]
        assert of_it == expected[: len(of_it)]


@pytest.mark.req("COR-04")
def test_an_alert_has_the_same_name_whoever_is_named_first_and_for_every_correction() -> None:
    assert Meeting.of(7, "b", "a").alert_id == Meeting.of(7, "a", "b").alert_id == AB.alert_id
    others = {Meeting(8, "a", "b").alert_id, AC.alert_id, Meeting(7, "a", "b\x1f7").alert_id}
    assert AB.alert_id not in others
    assert len(others) == 3


@pytest.mark.req("COR-02")
@pytest.mark.parametrize(("a", "b"), [("b", "a"), ("a", "a")])
def test_a_pair_is_of_two_objects_in_order(a: str, b: str) -> None:
    with pytest.raises(ValueError, match="two objects"):
        Meeting(7, a, b)
