"""Passages are found hour by hour, once, and the same whoever looks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.made_up_objects import EPOCH, made_up_objects
from tests.support.watched_sky import WINDOWS

from meridian.fusion import foreseen
from meridian.fusion.foreseen import HOUR, Foreseen, Hourly
from meridian.fusion.references import References
from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening import Screening, screen

CATALOG = made_up_objects(120, seed=6)
REFERENCES = References(Propagator(CATALOG), WINDOWS)
EVERYTHING = np.arange(len(CATALOG))
FIRST = EPOCH // HOUR + 1
THRESHOLD = 60_000.0


def hourly(directory: Path | None = None) -> Hourly:
    return Hourly(REFERENCES, CATALOG, np.full(len(CATALOG), 2.5), THRESHOLD, directory)


def named(found: Foreseen) -> list[tuple[int, int, int]]:
    return list(zip(found.times.tolist(), found.first.tolist(), found.second.tolist(), strict=True))


def test_hours_together_hold_what_one_screening_finds() -> None:
    start, end = FIRST * HOUR, (FIRST + 3) * HOUR
    whole = screen(CATALOG, Screening(start, end, THRESHOLD, processes=1))
    found = hourly().within(start, end - 1, EVERYTHING)
    assert len(found) > 5
    assert {(first, second) for _, first, second in named(found)} == {(each.first, each.second) for each in whole}
    assert len(found) == len(whole)
    assert np.abs(np.sort(found.times) - np.sort([each.tca_ns for each in whole])).max() < 10_000_000
    assert (found.radii == 5.0).all()


def test_only_passages_of_the_objects_asked_for_are_given_in_time_and_in_order() -> None:
    whole = hourly().within(FIRST * HOUR, (FIRST + 3) * HOUR, EVERYTHING)
    some = np.unique([whole.first[0], whole.second[0], whole.first[3], whole.second[3]])
    start, end = int(whole.times[0]), int(whole.times[3])
    found = hourly().within(start, end, some)
    wanted = [row for row in named(whole) if start < row[0] <= end and {row[1], row[2]} <= set(some.tolist())]
    assert named(found) == wanted
    assert wanted


def test_what_was_found_is_kept_and_not_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = hourly(tmp_path).hour(FIRST)
    looked: list[Elements] = []
    monkeypatch.setattr(foreseen, "screen", lambda *_: looked)
    again = hourly(tmp_path).hour(FIRST)
    assert named(again) == named(before)
    assert (again.first_states == before.first_states).all()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"nonsense"])
def test_what_was_kept_and_cannot_be_read_is_found_again(tmp_path: Path, content: bytes) -> None:
    before = hourly(tmp_path).hour(FIRST)
    (tmp_path / f"{FIRST}.npz").write_bytes(content)
    assert named(hourly(tmp_path).hour(FIRST)) == named(before)
    assert named(hourly(tmp_path).hour(FIRST)) == named(before)
