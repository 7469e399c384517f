"""Frames against published examples (Vallado, Fundamentals of Astrodynamics), and there and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.frames import (
    EarthOrientation,
    fixed_to_teme,
    rotated_covariance,
    rtn_basis,
    sidereal_time,
    teme_to_fixed,
)
from meridian.orbit.time import parse_ccsds

HALF_A_JULIAN_TICK_RAD = 3.4e-9
"""The published examples add up Julian dates in one double, which rounds the time by 40 µs."""


def at(text: str) -> np.ndarray:
    return np.array([parse_ccsds(text)])


@pytest.mark.req("ORB-03")
def test_the_sidereal_time_of_a_published_example() -> None:
    found = sidereal_time(at("1992-08-20T12:14:00"))[0]
    assert found == pytest.approx(np.radians(152.578787810), abs=HALF_A_JULIAN_TICK_RAD)


@pytest.mark.req("ORB-03")
def test_a_published_state_in_the_earth_fixed_frame() -> None:
    position = np.array([[5094.18016210, 6127.64465950, 6380.34453270]]) * 1e3
    velocity = np.array([[-4.746131487, 0.785818041, 5.531931288]]) * 1e3
    fixed = teme_to_fixed(position, velocity, at("2004-04-06T07:51:28.386009"), EarthOrientation(-0.4399619))
    assert fixed[0][0] == pytest.approx([-1033475.0313, 7901305.5856, 6380344.5327], abs=0.02)
    assert fixed[1][0] == pytest.approx([-3225.632747, -2872.442511, 5531.931288], abs=2e-5)


@settings(deadline=None)
@given(st.lists(st.floats(-1e7, 1e7), min_size=6, max_size=6), st.integers(0, 2 * 10**18), st.floats(-0.9, 0.9))
@pytest.mark.req("ORB-03")
def test_to_the_fixed_frame_and_back_is_where_it_was(state: list[float], time: int, ut1: float) -> None:
    position, velocity, times = np.array([state[:3]]), np.array([state[3:]]) / 1e3, np.array([time])
    back = fixed_to_teme(*teme_to_fixed(position, velocity, times, EarthOrientation(ut1)), times, EarthOrientation(ut1))
    assert np.allclose(back[0], position, atol=1e-6)
    assert np.allclose(back[1], velocity, atol=1e-9)


@pytest.mark.req("ORB-03")
def test_the_fixed_velocity_is_the_change_of_the_fixed_position() -> None:
    position, velocity = np.array([[7e6, 1e6, 2e6]]), np.array([[-1e3, 7e3, 500.0]])
    time, step_ns = at("2026-08-20T00:00:00"), 1_000_000
    before = teme_to_fixed(position - velocity * 1e-3, velocity, time - step_ns)[0]
    after = teme_to_fixed(position + velocity * 1e-3, velocity, time + step_ns)[0]
    assert np.allclose((after - before) / 2e-3, teme_to_fixed(position, velocity, time)[1], atol=2e-5)


@pytest.mark.req("ORB-03")
def test_the_axes_of_an_orbit_are_radial_transverse_and_normal() -> None:
    basis = rtn_basis(np.array([0.0, 7e6, 0.0]), np.array([-7.5e3, 100.0, 0.0]))
    assert np.allclose(basis, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])


def test_a_covariance_turns_with_its_axes() -> None:
    basis = rtn_basis(np.array([7e6, 1e6, 2e6]), np.array([-1e3, 7e3, 500.0]))
    in_rtn = np.diag([1.0, 4.0, 9.0, 16.0, 25.0, 36.0])
    turned = rotated_covariance(in_rtn, basis.T)
    assert basis[1] @ turned[:3, :3] @ basis[1] == pytest.approx(4.0)
    assert basis[2] @ turned[3:, 3:] @ basis[2] == pytest.approx(36.0)
    assert np.allclose(rotated_covariance(turned, basis), in_rtn)
