"""The motion over a short arc, and its transition matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.equinoctial import from_cartesian, to_cartesian
from meridian.orbit.motion import Gravity, acceleration, gravity_gradient, moved
from meridian.orbit.propagation import Propagator
from meridian.orbit.tle import parse_tle

STATES = np.array([
    [-984_195.0, 393_234.0, 6_991_223.0, 4_883.7, 5_689.1, 366.5],
    [42_164_000.0, 1_000.0, -5_000.0, 10.0, 3_074.0, 5.0],
])  # fmt: skip
ISS = parse_tle(
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
)
seconds = st.floats(-60.0, 60.0)


@pytest.mark.req("ORB-09")
@settings(deadline=None)
@given(seconds)
def test_without_flattening_it_is_two_body_motion(after: float) -> None:
    found, _ = moved(STATES, np.full(2, after), Gravity.POINT)
    for state, expected in zip(found, STATES, strict=True):
        assert np.allclose(state, to_cartesian(from_cartesian(expected), np.array(after)), rtol=0, atol=5e-3)


@pytest.mark.req("ORB-09")
def test_with_flattening_it_stays_near_sgp4_for_a_minute() -> None:
    propagator = Propagator([ISS])
    start, end = (np.concatenate(propagator.state(0, ISS.epoch_ns + after * 1_000_000_000))[None] for after in (0, 60))
    with_j2, without = (moved(start, np.array([60.0]), gravity)[0] for gravity in (Gravity.J2, Gravity.POINT))
    assert np.linalg.norm(with_j2 - end) < 2.0
    assert np.linalg.norm(with_j2 - end) < 0.3 * np.linalg.norm(without - end)


@pytest.mark.parametrize("gravity", Gravity)
@pytest.mark.req("ORB-09")
def test_the_gradient_is_the_change_of_the_acceleration(gravity: Gravity) -> None:
    position = STATES[:, :3]
    for axis in range(3):
        step = np.eye(3)[axis] * 10.0
        change = (acceleration(position + step, gravity) - acceleration(position - step, gravity)) / 20.0
        assert np.allclose(gravity_gradient(position, gravity)[:, :, axis], change, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("gravity", Gravity)
@pytest.mark.parametrize("after", [-60.0, 5.0, 60.0])
@pytest.mark.req("ORB-09")
def test_the_transition_is_the_change_of_the_moved_state(gravity: Gravity, after: float) -> None:
    _, transition = moved(STATES, np.full(2, after), gravity)
    for column in range(6):
        step = np.eye(6)[column] * (10.0 if column < 3 else 0.01)
        later, earlier = (moved(STATES + sign * step, np.full(2, after), gravity)[0] for sign in (1.0, -1.0))
        change = (later - earlier) / (2.0 * step[column])
        assert np.allclose(transition[:, :, column], change, rtol=1e-5, atol=1e-6)


@pytest.mark.req("ORB-09")
def test_forwards_and_back_is_where_it_was() -> None:
    there, forwards = moved(STATES, np.array([45.0, -45.0]))
    back, backwards = moved(there, np.array([-45.0, 45.0]))
    assert np.allclose(back, STATES, rtol=0, atol=1e-3)
    assert np.allclose(backwards @ forwards, np.eye(6), atol=1e-6)
