"""The dedup window against a plain set that forgets nothing."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.operators.dedup import DedupLimits, InputCut, InputWindow, SparseEntry, Verdict

BOUNDLESS = DedupLimits(max_entries=10_000, max_age=1e9)
SEQS = st.lists(st.integers(1, 60), max_size=150)
NARROW = st.builds(DedupLimits, max_entries=st.integers(1, 8), max_age=st.floats(0.5, 30))
ARRIVALS = st.lists(st.tuples(st.integers(1, 80), st.floats(0, 5), st.booleans()), max_size=150)


def restarted(window: InputWindow, limits: DedupLimits, *, now: float, later: float) -> InputWindow:
    """The window as it is after its cut was written as JSON and read by a process whose timer has another zero."""
    stored = json.loads(json.dumps(asdict(window.cut(now))))
    above = tuple(SparseEntry(**entry) for entry in stored.pop("above"))
    return InputWindow(limits, InputCut(**stored, above=above), now=later)


@pytest.mark.req("K8")
@given(SEQS)
def test_within_its_bounds_it_tells_new_from_repeated_as_a_set_does(seqs: list[int]) -> None:
    window, applied = InputWindow(BOUNDLESS), set[int]()
    for seq in seqs:
        assert (window.verdict(seq) is Verdict.NEW) == (seq not in applied)
        if seq not in applied:
            applied.add(seq)
            window.record(seq, seq, now=0.0)


@pytest.mark.req("K8")
@given(NARROW, ARRIVALS)
def test_nothing_applied_is_admitted_again_however_narrow_the_bounds_and_however_often_it_restarts(
    limits: DedupLimits, arrivals: list[tuple[int, float, bool]]
) -> None:
    window, applied, now = InputWindow(limits), set[int](), 0.0
    for seq, passed, restarts in arrivals:
        now += passed
        if window.verdict(seq) is Verdict.NEW:
            assert seq not in applied
            applied.add(seq)
            window.record(seq, seq, now=now)
        if restarts:
            window, now = restarted(window, limits, now=now, later=1000.0), 1000.0
    assert all(window.verdict(seq) is not Verdict.NEW for seq in applied)


@pytest.mark.req("K8")
@given(NARROW, ARRIVALS)
def test_it_stays_within_its_bounds_in_size_and_age(
    limits: DedupLimits, arrivals: list[tuple[int, float, bool]]
) -> None:
    window, now = InputWindow(limits), 0.0
    for seq, passed, _ in arrivals:
        now += passed
        if window.verdict(seq) is Verdict.NEW:
            window.record(seq, seq, now=now)
            assert len(window) <= limits.max_entries
            assert all(entry.age <= limits.max_age for entry in window.cut(now).above)


@pytest.mark.req("K8")
@given(SEQS, SEQS)
def test_a_restart_changes_no_verdict(before: list[int], after: list[int]) -> None:
    window = InputWindow(BOUNDLESS)
    for seq in dict.fromkeys(before):
        window.record(seq, seq, now=5.0)
    again = restarted(window, BOUNDLESS, now=5.0, later=0.0)
    assert [again.verdict(seq) for seq in after] == [window.verdict(seq) for seq in after]


@given(SEQS)
def test_the_replay_offset_is_that_of_the_closed_prefix(seqs: list[int]) -> None:
    window = InputWindow(BOUNDLESS)
    for seq in dict.fromkeys(seqs):
        window.record(seq, {"lsn": seq * 10}, now=0.0)
    cut = window.cut(0.0)
    prefix = next(n for n in range(1, 62) if n not in seqs) - 1
    assert (cut.applied, cut.offset) == (prefix, {"lsn": prefix * 10} if prefix else None)


def test_an_item_that_comes_after_its_place_was_given_up_is_called_too_late() -> None:
    window = InputWindow(DedupLimits(max_entries=1, max_age=60))
    for seq in (1, 3, 5):
        window.record(seq, seq, now=0.0)
    assert [window.verdict(seq) for seq in (1, 2, 3, 4, 5)] == [
        Verdict.TOO_LATE,
        Verdict.TOO_LATE,
        Verdict.DUPLICATE,
        Verdict.NEW,
        Verdict.DUPLICATE,
    ]
    assert window.holes_given_up == 1


def test_a_hole_is_kept_open_for_the_age_allowed_and_not_longer() -> None:
    window = InputWindow(DedupLimits(max_age=10.0))
    window.record(2, 2, now=0.0)
    window.record(4, 4, now=10.0)
    assert window.verdict(1) is Verdict.NEW
    window.record(6, 6, now=10.1)
    assert (window.verdict(1), window.verdict(3)) == (Verdict.TOO_LATE, Verdict.NEW)


def test_the_age_of_an_entry_does_not_grow_while_the_process_is_down() -> None:
    limits = DedupLimits(max_age=10.0)
    window = InputWindow(limits)
    window.record(2, 2, now=0.0)
    again = restarted(window, limits, now=4.0, later=900.0)
    assert again.cut(905.9).above
    assert not again.cut(906.1).above
