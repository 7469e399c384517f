"""Two states that meet: when, how near, and with which uncertainty."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from tests.support.conjunction_oracle import Pair, planar

from meridian.orbit.closest import conjunctions, straight_tca
from meridian.orbit.motion import Gravity, moved
from meridian.orbit.pc import foster, plane_of

MEETING = np.array([7e6, 0.0, 0.0, 0.0, 7_500.0, 0.0])
OTHER = np.array([7e6 + 80.0, 0.0, 60.0, 100.0, -2_000.0, 7_200.0])
SPREAD = np.diag([1e4, 4e4, 1e4, 0.1, 0.1, 0.1])


def before(seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """The two of them some time before they meet."""
    first, second = (moved(state[None], np.array([-seconds]))[0] for state in (MEETING, OTHER))
    return first, second


@pytest.mark.parametrize("seconds", [-50.0, -3.0, 0.0, 20.0, 55.0])
@pytest.mark.req("ORB-09")
def test_the_closest_approach_is_where_a_search_finds_it(seconds: float) -> None:
    first, second = before(seconds)

    def distance(at: float) -> float:
        one, other = (moved(state, np.array([at]))[0][0, :3] for state in (first, second))
        return float(np.linalg.norm(other - one))

    expected = minimize_scalar(distance, bounds=(seconds - 2, seconds + 2), method="bounded", options={"xatol": 1e-7})
    found = conjunctions(first, second, SPREAD[None], SPREAD[None])
    assert found.seconds[0] == pytest.approx(expected.x, abs=1e-4)
    assert found.miss_m[0] == pytest.approx(expected.fun, abs=1e-3)


@pytest.mark.req("ORB-09")
def test_the_covariance_is_moved_along() -> None:
    first, second = before(30.0)
    found = conjunctions(first, second, SPREAD[None], 2.0 * SPREAD[None])
    _, transition = moved(first, found.seconds, Gravity.J2)
    assert np.allclose(found.first_covariance[0], transition[0] @ SPREAD @ transition[0].T)
    assert np.trace(found.covariance[0][:3, :3]) > 3.0 * np.trace(SPREAD[:3, :3])


def test_what_lies_beyond_the_limit_ends_there() -> None:
    first, second = before(50.0)
    assert conjunctions(first, second, SPREAD[None], SPREAD[None], within_s=10.0).seconds[0] == 10.0


def test_those_that_fly_together_are_closest_now() -> None:
    assert straight_tca(MEETING[None], MEETING[None] + np.eye(6)[:1] * 10.0).tolist() == [0.0]


def test_a_conjunction_has_the_probability_of_its_closest_approach() -> None:
    first, second = before(5.0)
    found = conjunctions(first, second, SPREAD[None], SPREAD[None])
    covariances = tuple(
        transition[0] @ SPREAD @ transition[0].T
        for _, transition in (moved(states, found.seconds, Gravity.J2) for states in (first, second))
    )
    expected = planar(Pair((MEETING, OTHER), (covariances[0], covariances[1]), 10.0))
    assert foster(plane_of(found.encounter(0, 10.0))) == pytest.approx(expected, rel=1e-5)
