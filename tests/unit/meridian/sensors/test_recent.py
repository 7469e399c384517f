"""What the network doubled: remembered as an obvious model remembers it, within bounds, and made again from the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.log import Inbox
from meridian.sensors import ObservationColumns, SourceKind, events_of, from_observations, heartbeat
from meridian.sensors.observation import ClockQuality, Observation, RangeRate, Uncertainty
from meridian.sensors.recent import RecentIds, recent_ids

LOG = "obs.radar-1"
SECOND = 1_000_000_000
NOW = 1_760_000_000 * SECOND
WINDOW = 5 * SECOND


class Model:
    """A list of what is remembered, looked through from its beginning."""

    def __init__(self, window: int, most: int) -> None:
        self._window, self._most = window, most
        self.seen: list[tuple[int, int]] = []

    def new(self, digests: list[int], now: int) -> list[bool]:
        self.seen = [(at, digest) for at, digest in self.seen if at > now - self._window]
        found: list[bool] = []
        for start in range(0, len(digests), self._most):
            piece = digests[start : start + self._most]
            self.seen = self.seen[max(0, len(self.seen) + len(piece) - self._most) :]
            found += [self._is_new(digest, now) for digest in piece]
        return found

    def _is_new(self, digest: int, now: int) -> bool:
        if digest in [known for _, known in self.seen]:
            return False
        self.seen.append((now, digest))
        return True


pieces = st.lists(st.tuples(st.integers(0, 4), st.lists(st.integers(2**64 - 12, 2**64 - 1), max_size=9)), max_size=25)


@pytest.mark.req("DLV-05", "DLV-15")
@given(pieces=pieces, most=st.integers(1, 8))
def test_it_remembers_what_a_list_would_and_never_more_than_it_may(
    pieces: list[tuple[int, list[int]]], most: int
) -> None:
    recent, model, now = RecentIds(WINDOW, most), Model(WINDOW, most), NOW
    for later, digests in pieces:
        now += later * SECOND
        assert recent.new(np.array(digests, np.uint64), now).tolist() == model.new(digests, now)
        assert len(recent) == len(model.seen) <= most


@pytest.mark.req("DLV-05")
def test_what_is_too_old_is_forgotten_before_it_is_looked_for() -> None:
    recent, one = RecentIds(WINDOW), np.array([7], np.uint64)
    assert [recent.new(one, NOW + at).tolist() for at in (0, WINDOW - 1, WINDOW)] == [[True], [False], [True]]


@pytest.mark.req("DLV-05")
def test_what_is_too_much_is_forgotten_before_it_is_looked_for() -> None:
    recent = RecentIds(WINDOW, most=2)
    given = [np.array([digest], np.uint64) for digest in (1, 2, 1)]
    assert [recent.new(each, NOW).tolist() for each in given] == [[True], [True], [True]]


def seen(number: int, *, taken_ns: int) -> Observation:
    return Observation(
        observation_id=f"{number:08x}-0000-5000-8000-000000000000",
        source_id="radar-7",
        source_kind="Radar",
        sensor_ts_ns=NOW + number,
        ingest_ts_ns=taken_ns,
        target=RangeRate(9e5, 1.0, 1.0, 0.5),
        uncertainty=Uncertainty(1.0),
        clock_quality=ClockQuality("GpsLocked"),
    )


def columns(*numbers: int, taken_ns: int = NOW) -> ObservationColumns:
    return from_observations([seen(number, taken_ns=taken_ns) for number in numbers])


def test_what_is_left_out_is_left_out_of_all_columns() -> None:
    recent = RecentIds(WINDOW)
    recent(columns(1, 2), NOW)
    left = recent(columns(2, 3, 1, 3), NOW)
    assert left.keys() == columns(3).keys()
    assert (len(left.source_ids), len(left.object_ids)) == (1, 1)


@pytest.mark.req("DLV-05")
def test_what_it_has_to_remember_is_in_the_log(tmp_path: Path) -> None:
    pieces = [columns(n, n + 1, taken_ns=NOW - (9 - n // 2) * SECOND) for n in range(0, 20, 2)]
    with Inbox.open(tmp_path / LOG, name=LOG, epoch=1, flush_interval=0.0) as inbox:
        for piece in pieces:
            inbox.push(events_of(piece, LOG)).result()
            beat = heartbeat(SourceKind.RADAR, "radar-1", through_ns=NOW, now_ns=NOW)
            inbox.push(events_of(beat, LOG)).result()
        recent = recent_ids(tmp_path / LOG, window_ns=WINDOW, now_ns=NOW)
        few = recent_ids(tmp_path / LOG, window_ns=WINDOW, now_ns=NOW, most=4)
    assert recent(columns(*range(20)), NOW).keys() == columns(*range(10)).keys()
    assert len(few) <= 4
    assert few(columns(18), NOW).keys() == []
    later = recent_ids(tmp_path / LOG, window_ns=WINDOW, now_ns=NOW + 60 * SECOND)
    assert len(later) == 0


def test_of_a_new_log_there_is_nothing_to_remember(tmp_path: Path) -> None:
    with Inbox.open(tmp_path / LOG, name=LOG, epoch=1):
        assert len(recent_ids(tmp_path / LOG, window_ns=WINDOW, now_ns=NOW)) == 0
