"""What goes on to the correlator: never less than what matters, never less than there is room for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.positions import LogPosition, SiftedPosition
from meridian.sensors.branch import BRANCH, BURST, HIGH_WATER, Waiting, left_out_at, let_on
from meridian.sensors.watched import FILE, Watched

LOG = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
READS = st.lists(st.booleans(), max_size=40).map(lambda flags: np.array(flags, bool))
AHEAD = st.integers(0, 60)
"""Events that wait besides those that are read."""


@pytest.mark.req("PRI-02", "PRI-04")
@given(READS, AHEAD, st.integers(0, 60))
def test_what_is_high_is_never_left_out(is_high: np.ndarray, others: int, mark: int) -> None:
    assert let_on(is_high, len(is_high) + others, mark)[is_high].all()


@pytest.mark.req("PRI-02")
@given(READS, AHEAD, st.integers(0, 60))
def test_low_ones_are_left_out_only_while_more_wait_than_may(is_high: np.ndarray, others: int, mark: int) -> None:
    waiting = len(is_high) + others
    for high, goes_on in zip(is_high, let_on(is_high, waiting, mark), strict=True):
        assert goes_on == (high or waiting <= mark)
        waiting -= not goes_on


@pytest.mark.req("PRI-02")
@given(READS, AHEAD, st.integers(0, 60))
def test_no_more_wait_than_may_unless_all_low_ones_are_left_out(is_high: np.ndarray, others: int, mark: int) -> None:
    kept = let_on(is_high, len(is_high) + others, mark)
    assert kept.sum() + others <= mark or (kept == is_high).all()


def test_what_waits_is_what_is_unread_and_what_was_let_in_and_is_not_done() -> None:
    done, at = SiftedPosition(LOG, 100, 40), SiftedPosition(LOG, 200, 110)
    assert Waiting.between(done, at, end=250) == Waiting(unread=50, let_in=30)
    assert Waiting.between(done, at, end=250).events == 80


def test_a_position_says_how_many_were_left_out() -> None:
    assert left_out_at(SiftedPosition(LOG, 9, 4)) == 4
    assert left_out_at(LogPosition(LOG, 9)) == left_out_at(None) == 0


@pytest.mark.req("FLW-01", "FLW-05")
def test_the_capacity_follows_from_the_burst_and_what_waits_at_the_mark_is_soon_done() -> None:
    assert BRANCH.capacity == BURST.recommended_buffer == 90_000
    assert BRANCH.policy is not None
    assert BRANCH.policy.reason
    assert BRANCH.capacity * HIGH_WATER / BURST.processing_rate < 4


def written(directory: Path, text: str, mtime_ns: int) -> None:
    (directory / FILE).write_text(text)
    os.utime(directory / FILE, ns=(mtime_ns, mtime_ns))


def test_the_watched_objects_are_those_of_the_newest_file(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    assert watched.objects() == set()
    for at, names in enumerate((["a", "b"], ["c"], [])):
        written(tmp_path, json.dumps({"objects": names}), at)
        assert watched.objects() == set(names)
    assert watched.refused == 0


@pytest.mark.parametrize("text", ["", '{"objects": ["a"', "[]", '{"objects": [1]}', '{"objects": "a"}', "\xff"])
def test_a_torn_file_changes_nothing_and_is_told_once(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    watched = Watched(tmp_path)
    written(tmp_path, '{"objects": ["a"]}', 1)
    assert watched.objects() == {"a"}
    written(tmp_path, text, 2)
    assert watched.objects() == watched.objects() == {"a"}
    assert (watched.refused, len(caplog.records)) == (1, 1)
    written(tmp_path, '{"objects": ["b"]}', 3)
    assert watched.objects() == {"b"}


def test_a_file_that_is_gone_changes_nothing_and_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watched = Watched(tmp_path)
    written(tmp_path, '{"objects": ["a"]}', 1)
    watched.objects()
    (tmp_path / FILE).unlink()
    assert watched.objects() == {"a"}
    assert "stay as they were" in caplog.text
