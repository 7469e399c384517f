"""Paths: SGP4 between its own times, with velocities that belong to its positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.support.made_up_objects import EPOCH, made_up_objects

from meridian.orbit.frames import Floats
from meridian.orbit.paths import Paths
from meridian.orbit.propagation import Propagator

SECOND = 10**9
SIZE = 30 * SECOND
RANDOM = np.random.default_rng(5)
ELEMENTS = made_up_objects(40)
PATHS = Paths(Propagator(ELEMENTS))
OBJECTS, TIMES = RANDOM.integers(0, 40, 300), EPOCH + RANDOM.integers(0, 86_400 * SECOND, 300)


def exact(later_ns: int = 0) -> Floats:
    propagator = Propagator(ELEMENTS)
    pairs = zip(OBJECTS.tolist(), (TIMES + later_ns).tolist(), strict=True)
    return np.array([propagator.state(number, time)[0] for number, time in pairs])


def test_a_path_goes_where_sgp4_is() -> None:
    assert np.abs(PATHS.states(OBJECTS, TIMES)[:, :3] - exact()).max() < 1e-3


def test_a_velocity_is_the_slope_of_the_positions() -> None:
    slope = (exact(SECOND // 10) - exact(-SECOND // 10)) / 0.2
    assert np.abs(PATHS.states(OBJECTS, TIMES)[:, 3:] - slope).max() < 1e-3


def test_a_path_is_the_same_for_times_that_lie_far_apart() -> None:
    assert np.abs(PATHS.apart(OBJECTS, TIMES) - PATHS.states(OBJECTS, TIMES)).max() < 1e-6


def test_the_end_of_a_slice_is_the_beginning_of_the_next() -> None:
    objects, first = np.arange(40), EPOCH // SIZE
    ends = PATHS.at_end(objects, np.full(40, first))
    assert np.abs(ends - PATHS.states(objects, np.full(40, (first + 1) * SIZE))).max() < 1e-5


def test_an_object_without_a_state_is_not_a_number_and_the_others_are_not_touched() -> None:
    gone = replace(ELEMENTS[1], eccentricity=1e-4, mean_motion_rev_day=16.8, bstar=0.1)
    later = np.full(2, EPOCH + 86_400 * SECOND)
    found = Paths(Propagator([ELEMENTS[0], gone])).states(np.arange(2), later)
    assert np.isnan(found[1]).all()
    assert np.array_equal(found[:1], PATHS.states(np.arange(1), later[:1]))
