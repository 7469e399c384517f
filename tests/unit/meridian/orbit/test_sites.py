"""Places on the Earth and how objects look from there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meridian.orbit.frames import fixed_to_teme
from meridian.orbit.sites import Site, directions, fixed_to_geodetic, geodetic_to_fixed, look

NOW = np.array([1_787_000_000_000_000_000])
SITE = Site("Ascension", -7.9, -14.4, 100.0)


@pytest.mark.req("ORB-03")
def test_a_published_position_has_its_latitude_longitude_and_height() -> None:
    latitude, longitude, height = fixed_to_geodetic(np.array([6524.834, 6862.875, 6448.296]) * 1e3)
    assert np.degrees(latitude) == pytest.approx(34.352496, abs=2e-6)
    assert np.degrees(longitude) == pytest.approx(46.4464, abs=5e-5)
    assert height == pytest.approx(5_085_220, abs=10)


@settings(deadline=None)
@given(st.floats(-1.57, 1.57), st.floats(-3.14, 3.14), st.floats(-10_000, 5e7))
@pytest.mark.req("ORB-03")
def test_every_place_is_found_again(latitude: float, longitude: float, height: float) -> None:
    found = fixed_to_geodetic(geodetic_to_fixed(latitude, longitude, height))
    assert found[0] == pytest.approx(latitude, abs=1e-12)
    assert found[1] == pytest.approx(longitude, abs=1e-12)
    assert found[2] == pytest.approx(height, abs=1e-6)


def placed(east: float, north: float, up: float) -> tuple[np.ndarray, np.ndarray]:
    """The state in TEME of something that hangs still over the site."""
    fixed = SITE.fixed_m + np.array([east, north, up]) @ SITE.horizon
    return fixed_to_teme(fixed[None], np.zeros((1, 3)), NOW)


@pytest.mark.parametrize(
    ("offset", "azimuth_deg", "elevation_deg"),
    [
        ((0.0, 1e6, 0.0), 0.0, 0.0),
        ((1e6, 0.0, 0.0), 90.0, 0.0),
        ((0.0, -1e6, 0.0), 180.0, 0.0),
        ((-1e6, 0.0, 1e6), 270.0, 45.0),
        ((1.0, 0.0, 1e6), 90.0, 90.0),
    ],
)
@pytest.mark.req("ORB-03")
def test_the_horizon_has_its_directions(
    offset: tuple[float, float, float], azimuth_deg: float, elevation_deg: float
) -> None:
    seen = look(SITE, *placed(*offset), NOW)
    assert np.cos(seen.azimuth_rad[0] - np.radians(azimuth_deg)) == pytest.approx(1.0, abs=1e-12)
    assert np.degrees(seen.elevation_rad[0]) == pytest.approx(elevation_deg, abs=1e-4)
    assert seen.range_m[0] == pytest.approx(np.linalg.norm(offset))
    assert seen.range_rate_m_s[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.req("ORB-03")
def test_the_range_rate_is_the_change_of_the_range() -> None:
    position, velocity = placed(3e5, 2e5, 8e5)[0], np.array([[-4e3, 5e3, 3e3]])
    before = look(SITE, position - velocity * 1e-3, velocity, NOW - 1_000_000).range_m[0]
    after = look(SITE, position + velocity * 1e-3, velocity, NOW + 1_000_000).range_m[0]
    assert look(SITE, position, velocity, NOW).range_rate_m_s[0] == pytest.approx((after - before) / 2e-3, abs=1e-3)


@pytest.mark.req("ORB-03")
def test_the_direction_against_the_stars_is_the_line_of_sight() -> None:
    position = placed(3e5, 2e5, 8e5)[0]
    seen = directions(SITE, position, NOW)
    ra, dec = seen.right_ascension_rad[0], seen.declination_rad[0]
    line = position[0] - SITE.states(NOW)[0][0]
    expected = np.array([np.cos(dec) * np.cos(ra), np.cos(dec) * np.sin(ra), np.sin(dec)])
    assert np.allclose(line / np.linalg.norm(line), expected)
