"""What is of high priority: by the rule, for any order of samples, and with a memory that is bounded."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.operators import Keepable
from holdfast.flow import Priority
from meridian.sensors import Classifier, ObservationColumns, RecentObjects, SourceKind
from meridian.sensors.columns import RECORD

SECOND = 10**9
WINDOW = 30 * SECOND
RADAR, OPTICAL, ISL = SourceKind


def samples(*given: tuple[str | None, float], kind: SourceKind = RADAR) -> ObservationColumns:
    """Of (object, seconds)."""
    records = np.zeros(len(given), RECORD)
    records["kind"] = kind
    records["sensor_ts_ns"] = [int(at * SECOND) for _, at in given]
    names = pa.array([name for name, _ in given], pa.string())
    return ObservationColumns(records, pa.array(["radar-1"] * len(given), pa.string()), names)


@pytest.mark.req("PRI-01")
def test_the_sixth_radar_sample_of_an_object_within_thirty_seconds_is_low() -> None:
    classifier = Classifier()
    assert classifier.is_high(samples(*[("a", second) for second in range(1, 8)])).tolist() == [True] * 5 + [False] * 2
    assert classifier.decisions == {Priority.HIGH: 5, Priority.LOW: 2}


@pytest.mark.req("PRI-01")
def test_it_counts_across_batches_and_by_object() -> None:
    classifier = Classifier()
    classifier.is_high(samples(*[("a", second) for second in range(1, 5)]))
    assert classifier.is_high(samples(("b", 5), ("a", 5), ("a", 6), ("b", 6))).tolist() == [True, True, False, True]


@pytest.mark.req("PRI-01")
def test_samples_that_are_thirty_seconds_old_are_not_recent() -> None:
    classifier = Classifier()
    classifier.is_high(samples(*[("a", 1.0)] * 5))
    assert classifier.is_high(samples(("a", 30.9))).tolist() == [False]
    assert classifier.is_high(samples(("a", 31.0))).tolist() == [True]


@pytest.mark.req("PRI-01")
@pytest.mark.parametrize("kind", [OPTICAL, ISL])
def test_what_is_not_a_radar_is_high_and_counts_as_a_sample(kind: SourceKind) -> None:
    classifier = Classifier()
    assert classifier.is_high(samples(*[("a", 1.0)] * 8, kind=kind)).all()
    assert classifier.is_high(samples(("a", 2.0))).tolist() == [False]


def test_what_names_no_object_is_high() -> None:
    assert Classifier().is_high(samples(*[(None, 1.0)] * 8)).all()


def test_what_fusion_watches_is_high() -> None:
    classifier = Classifier(watched={"a"})
    assert classifier.is_high(samples(*[("a", 1.0)] * 8)).all()
    classifier.watched = frozenset()
    assert classifier.is_high(samples(("a", 2.0))).tolist() == [False]


def test_nothing_is_no_decision() -> None:
    assert Classifier().is_high(samples()).tolist() == []


BATCHES = st.lists(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), max_size=12).map(tuple), max_size=8
)


@pytest.mark.req("PRI-01")
@given(BATCHES)
def test_it_counts_what_one_by_one_would_be_counted(batches: list[tuple[tuple[str, int], ...]]) -> None:
    recent, history, now = RecentObjects(), defaultdict[str, list[int]](list), 0
    for batch in batches:
        times, expected = [], []
        for name, later in batch:
            now += later * SECOND
            expected.append(min(5, sum(time > now - WINDOW for time in history[name])))
            history[name].append(now)
            times.append(now)
        names = pa.array([name for name, _ in batch], pa.string())
        assert recent.sampled(names, np.array(times, np.int64)).tolist() == expected


@pytest.mark.req("PRI-01")
def test_samples_that_come_late_count_by_their_time() -> None:
    recent = RecentObjects()
    recent.sampled(pa.array(["a"] * 6), np.array([50, 10, 40, 45, 44, 43]) * SECOND)
    assert recent.sampled(pa.array(["a"]), np.array([41 * SECOND])).tolist() == [5]
    assert recent.sampled(pa.array(["a"]), np.array([75 * SECOND])).tolist() == [1]


@pytest.mark.req("PRI-01")
def test_no_more_objects_are_remembered_than_there_is_room_for() -> None:
    recent = RecentObjects(most=50)
    for batch in range(40):
        names = pa.array([f"{batch}-{number}" for number in range(10)])
        recent.sampled(names, np.full(10, batch * SECOND))
        assert len(recent) <= 50
    assert recent.sampled(pa.array(["39-0"]), np.array([40 * SECOND])).tolist() == [1]
    assert recent.sampled(pa.array(["0-0"]), np.array([40 * SECOND])).tolist() == [0]


@pytest.mark.req("PRI-01")
def test_objects_that_were_not_seen_lately_are_forgotten() -> None:
    recent = RecentObjects()
    recent.sampled(pa.array([str(number) for number in range(1000)]), np.zeros(1000, np.int64))
    recent.sampled(pa.array(["later"]), np.array([WINDOW]))
    assert len(recent) == 1


@given(BATCHES, BATCHES)
def test_what_is_restored_goes_on_as_if_it_had_never_ended(
    before: list[tuple[tuple[str, int], ...]], after: list[tuple[tuple[str, int], ...]]
) -> None:
    recent, restored = RecentObjects(), RecentObjects()
    now = played(recent, before, 0)[1]
    restored.restore([memoryview(bytes(buffer)) for buffer in recent.snapshot()])
    assert len(restored) == len(recent)
    assert played(restored, after, now) == played(recent, after, now)


def played(recent: RecentObjects, batches: list[tuple[tuple[str, int], ...]], now: int) -> tuple[list[list[int]], int]:
    """What was counted before each sample, and the time of the last."""
    counted = []
    for batch in batches:
        times = now + np.cumsum([later * SECOND for _, later in batch], dtype=np.int64)
        counted.append(recent.sampled(pa.array([name for name, _ in batch], pa.string()), times).tolist())
        now = int(times[-1]) if len(times) else now
    return counted, now


def test_it_can_be_kept_by_whoever_runs_it() -> None:
    state: Keepable = RecentObjects()
    assert state.snapshot()


@pytest.mark.req("WIN-03")
@given(BATCHES, st.integers(0, 4 * 10**9))
def test_what_is_recent_depends_on_the_times_of_samples_and_not_on_our_clock(
    batches: list[tuple[tuple[str, int], ...]], seconds: int
) -> None:
    at_once = played(RecentObjects(), batches, 0)[0]
    assert played(RecentObjects(), batches, seconds * SECOND)[0] == at_once


@pytest.mark.req("WIN-03")
def test_what_is_remembered_of_an_object_does_not_grow_with_its_samples() -> None:
    recent = RecentObjects()
    for batch in range(10):
        recent.sampled(pa.array(["a"] * 1000), np.full(1000, batch * SECOND))
    names, times = recent.snapshot()
    assert len(times) == 5 * np.dtype(np.int64).itemsize
    assert names == b'["a"]'
