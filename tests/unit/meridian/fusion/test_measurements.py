"""What sensors measure, against the looks from a site, and its changes, against differences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.support.made_up_objects import EPOCH

from meridian.fusion.exact import Floats
from meridian.fusion.measurements import Measured, Noise, Sites, by_beacon, by_radar, by_telescope
from meridian.orbit.sites import Site, directions, look

RANDOM = np.random.default_rng(6)
COUNT = 60
SITE = Site("maui", 20.7, -156.3, 3000.0)
SITES = Sites({"radar-1": SITE})
TIMES = EPOCH + RANDOM.integers(0, 86_400, COUNT) * 1_000_000_000
SENSORS = np.zeros(COUNT, np.int64)
PLACE, CARRIED = SITES.states(SENSORS, TIMES)
HORIZON = SITES.horizons(SENSORS, TIMES)
SIGMA = np.full(COUNT, 10.0)


def overhead() -> Floats:
    """States that the site sees, in every direction."""
    direction = RANDOM.normal(size=(COUNT, 3))
    direction[:, 2] = np.abs(direction[:, 2])
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    local = direction * RANDOM.uniform(4e5, 2e6, size=(COUNT, 1))
    place = PLACE + (local[:, :, None] * HORIZON).sum(axis=1)
    return np.concatenate([place, RANDOM.normal(size=(COUNT, 3)) * 4000], axis=1)


STATES = overhead()


def radar(states: Floats, values: Floats) -> Measured:
    return by_radar(states, values, SIGMA, (PLACE, CARRIED, HORIZON), Noise())


def telescope(states: Floats, values: Floats) -> Measured:
    return by_telescope(states, values, SIGMA * 1e-6, PLACE)


def beacon(states: Floats, values: Floats) -> Measured:
    return by_beacon(states, values, SIGMA, Noise())


def test_a_radar_foresees_what_an_object_looks_like_from_its_site() -> None:
    seen = look(SITE, STATES[:, :3], STATES[:, 3:], TIMES)
    values = np.stack([seen.range_m, seen.range_rate_m_s, seen.azimuth_rad, seen.elevation_rad], axis=1)
    assert np.allclose(radar(STATES, values).residual, 0, atol=1e-6)


def test_a_telescope_foresees_the_direction() -> None:
    seen = directions(SITE, STATES[:, :3], TIMES)
    values = np.stack([seen.right_ascension_rad, seen.declination_rad], axis=1)
    assert np.allclose(telescope(STATES, values).residual, 0, atol=1e-9)


@pytest.mark.req("ORB-09")
@pytest.mark.parametrize(
    ("model", "numbers", "angles"),
    [(radar, 4, [2, 3]), (telescope, 2, [0, 1]), (beacon, 6, [])],
    ids=["radar", "telescope", "beacon"],
)
def test_the_design_is_how_measurements_change(
    model: Callable[[Floats, Floats], Measured], numbers: int, angles: list[int]
) -> None:
    nothing = np.zeros((COUNT, numbers))
    design = model(STATES, nothing).design
    for axis, step in enumerate([1.0] * 3 + [1e-2] * 3):
        shift = np.zeros(6)
        shift[axis] = step
        change = model(STATES - shift, nothing).residual - model(STATES + shift, nothing).residual
        change[:, angles] = np.mod(change[:, angles] + np.pi, 2 * np.pi) - np.pi
        size = np.abs(design).max(axis=(0, 2))
        assert np.allclose(design[:, :, axis] / size, change / (2 * step) / size, atol=1e-4)


def test_an_azimuth_overhead_weighs_as_little_as_it_says() -> None:
    over = STATES.copy()
    over[:, :3] = PLACE + 1e6 * (HORIZON[:, 2] + 1e-3 * HORIZON[:, 0])
    measured = radar(over, np.zeros((COUNT, 4)))
    arc = np.linalg.norm(measured.design[:, 2:, :3], axis=2) * 1e6
    assert np.allclose(arc * np.sqrt(measured.weight[:, 2:]), 1 / Noise().radar_angle, rtol=1e-3)
