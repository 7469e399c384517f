"""Equinoctial elements: there and back, two-body motion, and derivatives that are those of the function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from meridian.orbit.equinoctial import EARTH_MU, common_axes, from_cartesian, to_cartesian, with_jacobian

STATE = np.array([-984_195.0, 393_234.0, 6_991_223.0, 4_883.7, 5_689.1, 366.5])
angles = st.floats(-3.0, 3.0)


def tilted(inclination: float, eccentricity: float, anomaly: float) -> np.ndarray:
    axis, normal = 9e6, np.array([0.0, -np.sin(inclination), np.cos(inclination)])
    size = axis * (1.0 - eccentricity**2)
    x, y = np.array([1.0, 0.0, 0.0]), np.cross(normal, [1.0, 0.0, 0.0])
    distance = size / (1.0 + eccentricity * np.cos(anomaly))
    speed = np.sqrt(EARTH_MU / size)
    position = distance * (np.cos(anomaly) * x + np.sin(anomaly) * y)
    return np.concatenate([position, speed * (-np.sin(anomaly) * x + (eccentricity + np.cos(anomaly)) * y)])


@settings(deadline=None)
@given(st.floats(0.0, 2.5), st.floats(0.0, 0.8), angles)
def test_a_state_comes_back_from_its_elements(inclination: float, eccentricity: float, anomaly: float) -> None:
    state = tilted(inclination, eccentricity, anomaly)
    assert np.allclose(to_cartesian(from_cartesian(state), np.zeros(())), state, rtol=1e-9, atol=1e-4)


def test_after_a_revolution_it_is_where_it_was() -> None:
    elements = from_cartesian(STATE)
    assert np.allclose(to_cartesian(elements, np.array(2 * np.pi / elements[0])), STATE, rtol=1e-9)


def test_the_motion_obeys_gravity() -> None:
    elements, times = from_cartesian(STATE), np.array([-0.5, 0.0, 0.5])
    before, now, after = to_cartesian(np.tile(elements, (3, 1)), times)
    acceleration = -EARTH_MU * now[:3] / np.linalg.norm(now[:3]) ** 3
    assert np.allclose(after[3:] - before[3:], acceleration, atol=1e-6)
    assert np.allclose(after[:3] - before[:3], now[3:], rtol=1e-6)


@pytest.mark.req("ORB-09")
def test_the_derivatives_are_those_of_the_state() -> None:
    elements, time = from_cartesian(STATE), np.array(500.0)
    _, jacobian = with_jacobian(elements, time)
    for index in range(6):
        step = np.zeros(6)
        step[index] = 1e-6 * (elements[0] if index == 0 else 1.0)
        change = (to_cartesian(elements + step, time) - to_cartesian(elements - step, time)) / (2 * step[index])
        assert np.allclose(jacobian[:, index], change, rtol=1e-5, atol=1e-5 * np.abs(jacobian[:, index]).max())


@settings(deadline=None)
@given(st.floats(0.0, 3.1), st.floats(0.0, 3.1), angles)
@example(one=3.0625, other=0.0, anomaly=-1.0)
def test_in_common_axes_no_orbit_is_retrograde(one: float, other: float, anomaly: float) -> None:
    first, second = tilted(one, 0.1, anomaly), tilted(other, 0.1, 0.3)
    pole = common_axes(first, second)[2]
    for state in (first, second):
        assert np.cross(state[:3], state[3:]) @ pole > -1e-3 * np.linalg.norm(np.cross(state[:3], state[3:]))
