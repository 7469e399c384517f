"""The machine between evidence and alerts, with a judge for whom two objects are close when their sums are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.fusion.correlator import Correlator, Counts
from meridian.fusion.emissions import Kind, Meeting, Word
from meridian.fusion.evidence import Evidence
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows

WINDOWS = Windows()
THRESHOLD = 10.0


@dataclass(frozen=True)
class Sums:
    """Finds how near the sums of two objects seen in a window are; earlier slices count for a thousandth."""

    known: Mapping[int, float]

    def findings(self, window: int, evidence: Evidence) -> Mapping[Meeting, float]:
        now = evidence.since(window - 1)
        seen = dict(self.settled(evidence.before(window - 1)).known)
        for object_, number in zip(now.objects.tolist(), now.sums.numbers()[:, 0].tolist(), strict=True):
            seen[object_] = seen.get(object_, 0.0) + number
        pairs = combinations(sorted(set(now.objects.tolist())), 2)
        near = {(one, other): abs(seen[one] - seen[other]) for one, other in pairs}
        return {Meeting.of(window, *map(str, pair)): gap for pair, gap in near.items() if gap < THRESHOLD}

    def still(self, before: float, now: float) -> bool:
        return abs(before - now) < 1.0

    def settled(self, evidence: Evidence) -> Sums:
        known = dict(self.known)
        for object_, number in zip(evidence.objects.tolist(), evidence.sums.numbers()[:, 0].tolist(), strict=True):
            known[object_] = known.get(object_, 0.0) + number / 1000
        return replace(self, known=known)


Seen = tuple[float, int, float]
"""When, in seconds, which object, and how much it adds."""


def fresh() -> Correlator[float]:
    return Correlator(WINDOWS, Watermarks({"radar": 0}), Evidence.nothing(1), Sums({}))


def evidence(seen: Sequence[Seen]) -> Evidence:
    times = np.array([int(time * SECOND) for time, _, _ in seen], np.int64)
    objects = np.array([object_ for _, object_, _ in seen], np.int64)
    numbers = np.array([number for _, _, number in seen], np.float64).reshape(-1, 1)
    return Evidence.of(WINDOWS.slices(times), objects, numbers, np.ones(len(seen), np.uint64), times)


def step(
    state: Correlator[float], seen: Sequence[Seen], until: float | None = None
) -> tuple[Correlator[float], list[Word[float]], Counts]:
    """One batch that ends with the watermark at `until`."""
    heard = {} if until is None else {"radar": Heard(int(until * SECOND))}
    state, words, counts = state.after(evidence(seen), heard)
    return state, list(words), counts


def brief(words: Sequence[Word[float]]) -> list[tuple[Kind, int, int, float]]:
    return [(word.kind, word.meeting.window, word.sequence, word.finding) for word in words]


def test_a_close_pair_is_told_of_before_its_window_closes() -> None:
    _, words, _ = step(fresh(), [(1, 1, 50.0), (2, 2, 53.0)], until=3)
    assert brief(words)[0] == (Kind.INSERT, 0, 0, 3.0)


def test_a_small_change_of_an_open_window_waits_until_it_closes() -> None:
    state, _, _ = step(fresh(), [(1, 1, 50.0), (2, 2, 53.0)], until=3)
    state, words, _ = step(state, [(4, 2, 0.5)], until=5)
    assert words == []
    state, words, counts = step(state, [], until=30)
    assert brief(words) == [(Kind.RETRACT, 0, 0, 3.0), (Kind.INSERT, 0, 1, 3.5)]
    assert (len(counts.closed), counts.retracted) == (1, 1)


@pytest.mark.req("LAT-02")
def test_a_late_observation_of_a_closed_window_takes_the_last_word_back_and_says_the_next() -> None:
    state, _, _ = step(fresh(), [(1, 1, 50.0), (2, 2, 53.0)], until=31)
    state, words, counts = step(state, [(29, 2, 0.25)], until=32)
    assert brief(words)[:2] == [(Kind.RETRACT, 0, 0, 3.0), (Kind.INSERT, 0, 1, 3.25)]
    assert (counts.taken, counts.late, counts.dropped) == (1, 1, 0)


@pytest.mark.req("LAT-02")
def test_a_late_observation_that_parts_a_pair_takes_the_alert_back() -> None:
    state, _, _ = step(fresh(), [(1, 1, 50.0), (2, 2, 53.0)], until=31)
    _, words, _ = step(state, [(29, 2, 40.0)], until=32)
    assert brief(words)[0] == (Kind.RETRACT, 0, 0, 3.0)
    assert not [word for word in words if word.kind is Kind.INSERT and word.meeting.window == 0]


@pytest.mark.req("LAT-03")
def test_what_is_too_late_for_every_window_is_dropped_counted_and_opens_none() -> None:
    state, _, _ = step(fresh(), [(1, 1, 50.0), (2, 2, 53.0)], until=65)
    after, words, counts = step(state, [(29, 2, 0.25), (29.9, 7, 1.0)], until=66)
    assert (words, counts.dropped, counts.taken) == ([], 2, 0)
    assert len(after.evidence) == len(state.evidence) == 0


def test_what_is_too_late_for_its_own_window_still_counts_in_the_next_one() -> None:
    state, _, _ = step(fresh(), [(40, 1, 50.0)], until=36)
    state, words, counts = step(state, [(29, 2, 53.0)], until=37)
    assert brief(words) == [(Kind.INSERT, 1, 0, 3.0)]
    assert (counts.taken, counts.late) == (1, 1)


@pytest.mark.req("COR-03")
@pytest.mark.parametrize("border", [30, 60, 90])
def test_a_pair_on_both_sides_of_a_border_is_found(border: int) -> None:
    state, _, _ = step(fresh(), [(border - 14.9, 1, 50.0), (border + 14.9, 2, 53.0)], until=border + 15)
    state, _, _ = step(state, [], until=border + 30)
    assert [meeting.window for meeting, last in state.telling.said.items() if last.finding is not None] == [
        border // 30
    ]


@pytest.mark.req("COR-05", "LAT-08")
def test_nothing_is_kept_of_windows_that_are_gone() -> None:
    state = fresh()
    for second in range(0, 600, 5):
        state, _, _ = step(state, [(second, 1, 1.0), (second, 2, 1.0)], until=second)
        assert second - WINDOWS.end(int(state.evidence.slices.min())) / SECOND < 40
        assert len(state.evidence) <= 2 * 4
        assert all(meeting.window >= state.first_kept for meeting in state.telling.said)


def test_nothing_closes_until_every_source_was_heard() -> None:
    state = replace(fresh(), watermarks=Watermarks({"radar": 0, "optical": 0}))
    state, _, counts = step(state, [(1, 1, 50.0), (2, 2, 53.0)], until=500)
    assert (counts.closed, counts.dropped) == ((), 0)
    state, _, counts = state.after(evidence([]), {"optical": Heard(100 * SECOND)})
    assert len(counts.closed) == 2
    assert len(state.evidence) == 0


SEEN = st.lists(
    st.tuples(st.integers(0, 1500).map(lambda tenths: tenths / 10), st.integers(0, 3), st.integers(-40, 40).map(float)),
    min_size=1,
    max_size=40,
)


def final(words: Sequence[Word[float]]) -> dict[Meeting, float]:
    """What a receiver holds at the end, numbers aside."""
    holds: dict[Meeting, float] = {}
    for word in words:
        if word.takes_back:
            assert holds.pop(word.meeting) == word.finding, "what is taken back was said"
        else:
            assert word.meeting not in holds, "what was said before was taken back first"
            holds[word.meeting] = word.finding
    return holds


def through(seen: Sequence[Seen], sizes: Random, budget: float) -> dict[Meeting, float]:
    """What is said at the end when these come in this order, in batches of any size, none later than the budget."""
    state, words, place = fresh(), list[Word[float]](), 0
    while place < len(seen):
        size = sizes.randint(1, 6)
        batch, rest = seen[place : place + size], seen[place + size :]
        newest = max(time for time, _, _ in seen[: place + size])
        reached = min([newest, *(time + budget for time, _, _ in rest)])
        state, more, counts = step(state, batch, until=reached)
        assert counts.dropped == 0
        words, place = words + more, place + size
    state, more, _ = step(state, [], until=1e6)
    return final(words + more)


def batch_answer(seen: Sequence[Seen]) -> dict[Meeting, float]:
    """The same, computed at once over all that was seen."""
    judge, everything, answer = Sums({}), evidence(seen), dict[Meeting, float]()
    for window in range(60):
        known = judge.settled(everything.before(window - 1))
        answer |= known.findings(window, everything.since(window - 1).before(window + 1))
    return answer


@settings(max_examples=60)
@given(SEEN, st.integers())
@pytest.mark.req("LAT-06")
def test_neither_order_nor_batches_show_in_what_is_said_at_the_end(seen: list[Seen], seed: int) -> None:
    random = Random(seed)
    answers = []
    for _ in range(10):
        shuffled = seen[:]
        random.shuffle(shuffled)
        answers.append(through(shuffled, random, budget=4.9))
    assert all(answer == batch_answer(seen) for answer in answers)
