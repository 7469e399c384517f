"""Motion about a point mass, against a numerical integration, its own differences, and what no motion may break."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from meridian.orbit.equinoctial import EARTH_MU as MU
from meridian.orbit.kepler import Moved, moved
from meridian.orbit.propagation import Floats

RANDOM = np.random.default_rng(2)


def states(count: int) -> tuple[Floats, Floats]:
    """Ellipses of every kind that does not come below the surface."""
    perigee, eccentricity = RANDOM.uniform(6.6e6, 9e6, count), RANDOM.uniform(0, 0.75, count)
    angle = RANDOM.uniform(0, 2 * np.pi, count)
    parameter = perigee * (1 + eccentricity)
    distance = parameter / (1 + eccentricity * np.cos(angle))
    flat = np.stack([distance * np.cos(angle), distance * np.sin(angle), np.zeros(count)], axis=1)
    speed = np.sqrt(MU / parameter)
    fast = np.stack([-speed * np.sin(angle), speed * (eccentricity + np.cos(angle)), np.zeros(count)], axis=1)
    turns = np.linalg.qr(RANDOM.normal(size=(count, 3, 3)))[0]
    return (turns @ flat[:, :, None])[:, :, 0], (turns @ fast[:, :, None])[:, :, 0]


def integrated(position: Floats, velocity: Floats, seconds: float) -> Floats:
    def pull(_: float, state: Floats) -> Floats:
        return np.concatenate([state[3:], -MU * state[:3] / np.linalg.norm(state[:3]) ** 3])

    start = np.concatenate([position, velocity])
    end: Floats = solve_ivp(pull, (0, seconds), start, method="DOP853", rtol=1e-12, atol=1e-6).y[:, -1]
    return end


@pytest.mark.parametrize("seconds", [-5400.0, -30.0, 0.0, 30.0, 3000.0, 86_400.0])
def test_states_are_those_of_a_numerical_integration(seconds: float) -> None:
    position, velocity = states(6)
    found = moved(position, velocity, np.full(6, seconds))
    for row in range(6):
        expected = integrated(position[row], velocity[row], seconds)
        assert np.allclose(found.position_m[row], expected[:3], atol=0.2)
        assert np.allclose(found.velocity_m_s[row], expected[3:], atol=2e-4)


@pytest.mark.req("ORB-09")
@pytest.mark.parametrize("seconds", [-600.0, 30.0, 5400.0, 43_200.0])
def test_the_transition_is_the_derivative_of_the_motion(seconds: float) -> None:
    position, velocity = states(20)
    found = moved(position, velocity, np.full(20, seconds)).transition
    for axis, step in enumerate([10.0] * 3 + [1e-2] * 3):
        ahead, behind = (shifted(position, velocity, axis, sign * step, seconds) for sign in (1, -1))
        slope = np.concatenate(
            [ahead.position_m - behind.position_m, ahead.velocity_m_s - behind.velocity_m_s], axis=1
        ) / (2 * step)
        size = np.abs(slope).max(axis=1, keepdims=True)
        assert np.allclose(found[:, :, axis] / size, slope / size, atol=3e-5)


def shifted(position: Floats, velocity: Floats, axis: int, step: float, seconds: float) -> Moved:
    position, velocity = position.copy(), velocity.copy()
    (position if axis < 3 else velocity)[:, axis % 3] += step
    return moved(position, velocity, np.full(len(position), seconds))


@pytest.mark.req("ORB-09")
def test_the_transition_keeps_what_every_motion_without_friction_keeps() -> None:
    position, velocity = states(50)
    whole = moved(position, velocity, RANDOM.uniform(-40_000, 40_000, 50)).transition
    pairing = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    kept = whole.swapaxes(1, 2) @ pairing @ whole
    size = np.abs(whole.swapaxes(1, 2)) @ np.abs(pairing) @ np.abs(whole)
    assert np.all(np.abs(kept - pairing) <= 1e-10 * size + 1e-12)


def test_there_and_back_is_nothing() -> None:
    position, velocity = states(30)
    seconds = RANDOM.uniform(-20_000, 20_000, 30)
    there = moved(position, velocity, seconds)
    back = moved(there.position_m, there.velocity_m_s, -seconds)
    assert np.allclose(back.position_m, position, atol=0.02)
    assert np.allclose(back.velocity_m_s, velocity, atol=2e-5)


def test_what_flies_off_is_no_number_and_disturbs_nobody() -> None:
    position, velocity = states(2)
    velocity[1] *= 3
    found = moved(position, velocity, np.full(2, 60.0))
    assert np.isfinite(found.transition[0]).all()
    assert np.isnan(found.position_m[1]).all()
