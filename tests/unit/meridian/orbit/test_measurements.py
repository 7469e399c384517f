"""Measurement models: the same values as the geometry gives, and the derivatives of exactly these values."""

from __future__ import annotations

import numpy as np
import pytest

from meridian.orbit.frames import EarthOrientation
from meridian.orbit.measurements import Measurement, Optical, Radar, StateVector
from meridian.orbit.sites import Site, directions, look

SITE = Site("Kwajalein", 8.7, 167.7, 60.0)
TIMES = 1_787_000_000_000_000_000 + np.arange(40) * 7_000_000_000
MODELS = [Radar(), Radar(EarthOrientation(0.3)), Optical(), StateVector()]


def states() -> np.ndarray:
    """Objects around the site, some of them low over the horizon."""
    random = np.random.default_rng(5)
    site, _ = SITE.states(TIMES)
    offset = random.normal(size=(len(TIMES), 3)) * 8e5
    return np.concatenate([site * 1.1 + offset, random.normal(size=(len(TIMES), 3)) * 4e3], axis=1)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.req("ORB-09")
def test_the_jacobian_is_the_change_of_the_values(model: Measurement) -> None:
    jacobian = model.predict(states(), SITE, TIMES).jacobian
    for column in range(6):
        size = 1.0 if column < 3 else 1e-3
        step = np.eye(6)[column] * size
        more, less = (model.predict(states() + sign * step, SITE, TIMES).values for sign in (1.0, -1.0))
        change = model.residuals(more, less) / (2.0 * size)
        assert np.allclose(jacobian[:, :, column], change, rtol=1e-4, atol=1e-9)


@pytest.mark.req("ORB-09")
def test_the_radar_measures_what_the_geometry_says() -> None:
    values = Radar().predict(states(), SITE, TIMES).values
    seen = look(SITE, states()[:, :3], states()[:, 3:], TIMES)
    expected = [seen.range_m, seen.range_rate_m_s, seen.azimuth_rad, seen.elevation_rad]
    assert np.allclose(values, np.stack(expected, axis=1), rtol=1e-9)


@pytest.mark.req("ORB-09")
def test_the_telescope_measures_what_the_geometry_says() -> None:
    values = Optical().predict(states(), SITE, TIMES).values
    seen = directions(SITE, states()[:, :3], TIMES)
    assert np.allclose(values, np.stack([seen.right_ascension_rad, seen.declination_rad], axis=1), rtol=1e-12)


@pytest.mark.parametrize(("model", "column", "width"), [(Radar(), 2, 4), (Optical(), 0, 2)])
def test_a_difference_of_angles_never_goes_the_long_way(model: Measurement, column: int, width: int) -> None:
    observed, predicted = np.zeros((1, width)), np.zeros((1, width))
    observed[0, column], predicted[0, column] = 0.01, 2 * np.pi - 0.01
    assert model.residuals(observed, predicted)[0, column] == pytest.approx(0.02)
