"""What observations weigh, and that each is seen from where its sensor stands."""

from __future__ import annotations

import numpy as np
from tests.support.made_up_objects import EPOCH

from meridian.fusion.measurements import Noise, Sites
from meridian.orbit.sites import Site, look
from meridian.sensors import Form

RANDOM = np.random.default_rng(6)
PLACES = {"radar-2": Site("maui", 20.7, -156.3, 3000.0), "radar-1": Site("kiruna", 67.9, 21.1, 400.0)}
TIMES = EPOCH + np.arange(6) * 1_000_000_000
STATES = RANDOM.normal(size=(6, 6)) * np.array([7e6, 7e6, 7e6, 4e3, 4e3, 4e3])
SENSORS = np.array([0, 1, 1, 0, 1, 0])


def test_each_observation_is_seen_from_where_its_sensor_stands() -> None:
    values = np.zeros((6, 6))
    for row, sensor in enumerate(SENSORS.tolist()):
        site = PLACES[sorted(PLACES)[sensor]]
        seen = look(site, STATES[row : row + 1, :3], STATES[row : row + 1, 3:], TIMES[row : row + 1])
        values[row, :4] = np.stack([seen.range_m, seen.range_rate_m_s, seen.azimuth_rad, seen.elevation_rad])[:, 0]
    found = Sites(PLACES).measured(Form.RANGE_RATE, SENSORS, STATES, TIMES, values, np.ones(6), Noise())
    assert np.allclose(found.residual, 0, atol=1e-6)


def test_what_was_measured_is_not_changed() -> None:
    values = RANDOM.normal(size=(6, 6))
    before = values.copy()
    Sites(PLACES).measured(Form.RANGE_RATE, SENSORS, STATES, TIMES, values, np.ones(6), Noise())
    assert np.array_equal(values, before)


def test_an_angle_weighs_by_its_arc_wherever_it_points() -> None:
    sites = Sites(PLACES)
    for form, angles, sigma in ((Form.RANGE_RATE, slice(2, 4), Noise().radar_angle), (Form.ANGULAR, slice(0, 2), 1e-5)):
        said = np.full(6, 1e-5 if form is Form.ANGULAR else 10.0)
        found = sites.measured(form, SENSORS, STATES, TIMES, np.zeros((6, 6)), said, Noise())
        distance = np.array([np.linalg.norm(STATES[row, :3] - place(row)) for row in range(6)])
        arc = np.linalg.norm(found.design[:, angles, :3], axis=2) * distance[:, None]
        assert np.allclose(arc * np.sqrt(found.weight[:, angles]), 1 / sigma, rtol=1e-6)


def place(row: int) -> np.ndarray:
    site = PLACES[sorted(PLACES)[SENSORS[row]]]
    return site.states(TIMES[row : row + 1])[0][0]


def test_places_and_velocities_weigh_by_their_own() -> None:
    found = Sites({}).measured(
        Form.STATE_VECTOR, np.zeros(6, np.int64), STATES, TIMES, STATES, np.full(6, 5.0), Noise(beacon_velocity=0.2)
    )
    assert np.allclose(found.weight, [0.04] * 3 + [25.0] * 3)
    assert not found.residual.any()
