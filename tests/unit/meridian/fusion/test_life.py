"""What becomes of a conjunction that many windows tell of."""

from __future__ import annotations

from dataclasses import replace

from meridian.fusion.emissions import Kind, Meeting, Word
from meridian.fusion.life import Conjunction, Conjunctions, Passage, Stage
from meridian.fusion.risk import ConjunctionRisk

RISK = ConjunctionRisk(
    encounter=1000, closest=1001, miss=500.0, speed=7000.0, plane=(500.0, 0.0), spread=(1.0, 1.0, 0.0), radius=10.0,
    probability=1e-5, observed=(3, 4), digests=(5, 6), newest=900,
)  # fmt: skip
NEARER = replace(RISK, miss=100.0)
PASSAGE = Passage("a", "b", 1000)


def said(window: int, risk: ConjunctionRisk = RISK, *, sequence: int = 0) -> Word[ConjunctionRisk]:
    return Word(Kind.INSERT, Meeting(window, "a", "b"), sequence, risk)


def taken_back(window: int, risk: ConjunctionRisk = RISK, *, sequence: int = 0) -> Word[ConjunctionRisk]:
    return Word(Kind.RETRACT, Meeting(window, "a", "b"), sequence, risk)


def through(*batches: list[Word[ConjunctionRisk]]) -> tuple[Conjunctions, list[list[tuple[Stage, float]]]]:
    """Where things stand after these batches, and what was news in each."""
    known, news = Conjunctions(), []
    for words in batches:
        known, changed = known.after(words)
        news.append([(each.stage, each.risk.miss) for each in changed])
    return known, news


def test_a_conjunction_is_raised_once_however_many_windows_tell_of_it() -> None:
    _, news = through([said(7)], [said(8)], [said(9)])
    assert news == [[(Stage.RAISED, 500.0)], [], []]


def test_it_stands_by_the_newest_window() -> None:
    known, news = through([said(7)], [said(8, NEARER)], [taken_back(7), said(7, replace(RISK, miss=9.0), sequence=1)])
    assert news == [[(Stage.RAISED, 500.0)], [(Stage.UPDATED, 100.0)], []]
    assert known.standing()[0].risk == NEARER


def test_a_correction_in_one_batch_is_one_change() -> None:
    _, news = through([said(7)], [taken_back(7), said(7, NEARER, sequence=1)])
    assert news[1] == [(Stage.UPDATED, 100.0)]


def test_it_is_withdrawn_when_the_newest_window_finds_nothing_any_more_and_may_come_again() -> None:
    known, news = through([said(7), said(8)], [taken_back(7)], [taken_back(8)], [said(9)])
    assert news == [[(Stage.RAISED, 500.0)], [], [(Stage.WITHDRAWN, 500.0)], [(Stage.UPDATED, 500.0)]]
    assert [each.passage for each in known.standing()] == [PASSAGE]


def test_it_is_withdrawn_when_a_newer_window_saw_both_objects_and_found_nothing() -> None:
    known, _ = through([said(7)])
    known, news = known.after([], [(6, PASSAGE)])
    assert news == [], "an older window has less to say"
    known, news = known.after([], [(8, PASSAGE)])
    assert [each.stage for each in news] == [Stage.WITHDRAWN]
    assert known.standing() == []


def test_what_is_said_of_it_is_numbered() -> None:
    known, first = Conjunctions().after([said(7)])
    known, second = known.after([said(8, NEARER)])
    known, none = known.after([said(9, NEARER)])
    _, over = known.expired(2000)
    assert [each.version for each in [*first, *second, *none, *over]] == [0, 1, 2]


def test_windows_that_are_gone_are_forgotten_but_for_the_newest() -> None:
    known, _ = through([said(7)], [said(8)], [said(9, NEARER)])
    (life,) = known.without(12).standing()
    assert (dict(life.told), life.windows, life.risk) == ({9: NEARER}, 3, NEARER)
    (life,) = known.without(8).standing()
    assert set(life.told) == {8, 9}


def test_its_end_is_told_once_when_its_time_has_passed() -> None:
    known, _ = through([said(7)])
    assert known.expired(1000)[1] == []
    later, over = known.expired(1001)
    assert over == [Conjunction(PASSAGE, Stage.EXPIRED, RISK, version=1)]
    assert later.known == {}
    assert later.expired(2000)[1] == []


def test_of_one_that_was_withdrawn_no_end_is_told() -> None:
    known, _ = through([said(7)], [taken_back(7)])
    later, over = known.expired(2000)
    assert (later.known, over) == ({}, [])


def test_two_passages_of_a_pair_are_two() -> None:
    other = replace(RISK, encounter=5000, closest=5001)
    known, news = through([said(7)], [said(8, other)])
    assert news[1] == [(Stage.RAISED, 500.0)]
    assert [each.passage.encounter for each in known.standing()] == [1000, 5000]


def test_what_was_never_said_cannot_be_taken_back() -> None:
    known, news = through([taken_back(7)])
    assert (known.known, news) == ({}, [[]])


def test_those_that_expire_together_are_told_in_one_order_whatever_was_raised_first() -> None:
    words = [Word(Kind.INSERT, Meeting(7, name, "z"), 0, RISK) for name in ("b", "a")]
    known, _ = Conjunctions().after(words[:1])
    known, _ = known.after(words[1:])
    assert [each.passage.a for each in known.expired(2000)[1]] == ["a", "b"]
