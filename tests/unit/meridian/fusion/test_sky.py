"""Passages that a catalog foresees, and where they really are when both objects are a little off it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from tests.support.made_up_objects import EPOCH, made_up

from meridian.fusion.estimates import Estimates
from meridian.fusion.exact import Floats
from meridian.fusion.foreseen import Foreseen
from meridian.fusion.geometry import Geometry
from meridian.fusion.references import References
from meridian.fusion.sky import CatalogSky
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening import Screening, screen

WINDOWS = Windows()
HOUR = 3600 * SECOND
FIRST = EPOCH // WINDOWS.size


def crossing_pair(seed: int) -> tuple[Elements, Elements]:
    """Two objects on circles of one size that cross at the same time, some hours from the epoch."""
    random = Random(seed)
    one = replace(made_up(1, random), eccentricity=1e-4, argument_of_perigee_deg=0.0, bstar=0.0)
    other = replace(one, norad=2, inclination_deg=180 - one.inclination_deg if one.inclination_deg < 70 else 40.0)
    return one, other


def closest(propagator: Propagator, near: int) -> tuple[int, Floats, Floats]:
    """When two objects are closest within a minute of a time, and where both are then."""

    def apart(seconds: float) -> float:
        found = propagator.states(np.array([near + int(seconds * SECOND)])).position_m[:, 0]
        return float(np.linalg.norm(found[1] - found[0]))

    best = minimize_scalar(apart, bounds=(-60, 60), method="bounded", options={"xatol": 1e-7})
    when = near + int(best.x * SECOND)
    place = propagator.states(np.array([when])).position_m[:, 0]
    return when, place[0], place[1]


def first_crossing(propagator: Propagator, after: int) -> int:
    times = after + np.arange(0, 6 * 3600, 10, dtype=np.int64) * SECOND
    places = propagator.states(times).position_m
    return int(times[np.linalg.norm(places[1] - places[0], axis=1).argmin()])


def sky_of(pair: tuple[Elements, Elements]) -> tuple[CatalogSky, int]:
    propagator = Propagator(pair)
    when, _, _ = closest(propagator, first_crossing(propagator, EPOCH + HOUR))
    references = References(propagator, WINDOWS)
    numbers = np.array([0]), np.array([1])
    foreseen = Foreseen.of(references, np.array([when]), *numbers, np.array([20.0]))
    return CatalogSky(references, foreseen, ["one", "two"], WINDOWS, 12 * HOUR), when


@pytest.mark.parametrize("seed", range(5))
def test_a_passage_moves_with_both_objects_as_sgp4_would_have_it(seed: int) -> None:
    pair = crossing_pair(seed)
    sky, when = sky_of(pair)
    off = tuple(
        replace(each, mean_anomaly_deg=each.mean_anomaly_deg + turn, raan_deg=each.raan_deg - turn / 2)
        for each, turn in zip(pair, (0.004, -0.003), strict=True)
    )
    real_time, real_first, real_second = closest(Propagator(off), when)
    passages = sky.passages(FIRST, np.array([0, 1]))
    at_end = References(Propagator(off), WINDOWS).at_end(np.array([0, 1]), np.array([FIRST, FIRST]))
    deviation = at_end - sky.references.at_end(np.array([0, 1]), np.array([FIRST, FIRST]))
    known = Estimates(deviation, np.zeros((2, 6, 6)))
    found = Geometry.of(passages, known[:1], known[1:])
    shift = float(np.linalg.norm(real_second - real_first))
    by_catalog = float(np.linalg.norm(passages.states[0, :3]))
    assert abs(found.miss[0] - shift) < 0.1 * abs(shift - by_catalog) + 20
    assert abs(passages.times[0] + found.offset[0] - real_time) < 0.05 * SECOND


def test_only_passages_to_come_of_objects_that_were_seen_are_looked_at() -> None:
    sky, when = sky_of(crossing_pair(1))
    window = when // WINDOWS.size
    both = np.array([0, 1])
    assert len(sky.passages(FIRST, both)) == 1
    assert len(sky.passages(FIRST, np.array([0]))) == 0
    assert len(sky.passages(FIRST, np.array([], np.int64))) == 0
    assert len(sky.passages(window - 1, both)) == 1, "its time lies behind the end of that window"
    assert len(sky.passages(window, both)) == 0, "and before the end of this one"
    assert len(replace(sky, horizon=HOUR).passages(FIRST - 12 * 120, both)) == 0
    assert sky.names(both) == ["one", "two"]


def test_what_a_screening_finds_is_foreseen() -> None:
    pair = crossing_pair(1)
    sky, when = sky_of(pair)
    found = screen(pair, Screening(EPOCH + HOUR, EPOCH + 7 * HOUR, 200_000.0, processes=1))
    foreseen = Foreseen.screened(sky.references, found, np.array([3.0, 4.0]))
    nearest = int(np.abs(foreseen.times - when).argmin())
    assert abs(int(foreseen.times[nearest]) - when) < SECOND // 100
    assert np.allclose(foreseen.first_states[nearest], sky.foreseen.first_states[0], atol=80)
    assert set(foreseen.radii.tolist()) == {7.0}
    assert len(Foreseen.screened(sky.references, [], np.array([3.0, 4.0]))) == 0
