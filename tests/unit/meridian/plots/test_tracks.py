"""Ground tracks: which places, and the date line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.plots import texts_of
from tests.support.seen import CATALOG, NOW, SITES, elements

from holdfast.model.errors import InvalidRequest
from meridian.orbit.frames import Floats
from meridian.plots.files import Form, rendered
from meridian.plots.tracks import broken, corners_of, ground_tracks, tracks_of


def _jumps(values: Floats) -> Floats:
    steps: Floats = np.abs(np.diff(values))
    return steps[~np.isnan(steps)]


def test_a_track_reaches_as_far_north_as_the_inclination() -> None:
    (track,) = tracks_of([elements(inclination_deg=68.0)], NOW)
    assert track.latitude_deg.max() == pytest.approx(68.0, abs=0.4)
    assert track.latitude_deg.min() == pytest.approx(-68.0, abs=0.4)


def test_the_earth_turns_away_below_an_orbit() -> None:
    (track,) = tracks_of([elements(mean_motion_rev_day=14.4)], NOW)
    drift = (track.longitude_deg[-1] - track.longitude_deg[0] + 180) % 360 - 180
    assert drift == pytest.approx(-360 / 14.4, abs=0.6)


def test_no_line_is_drawn_across_the_map_at_the_date_line() -> None:
    for track in tracks_of(CATALOG, NOW):
        longitude, _ = broken(track.longitude_deg, track.latitude_deg)
        assert np.nanmax(np.abs(longitude)) <= 180
        assert _jumps(longitude).max() < 180
        assert np.isnan(longitude).sum() == 1


def test_a_line_is_led_to_the_edge_and_begins_anew_at_the_other() -> None:
    longitude, latitude = broken(np.array([178.0, -178.0]), np.array([10.0, 20.0]))
    np.testing.assert_allclose(longitude, [178, 180, math.nan, -180, -178])
    np.testing.assert_allclose(latitude, [10, 15, math.nan, 15, 20])


@given(st.lists(st.tuples(st.floats(-180, 180), st.floats(-90, 90)), min_size=1, max_size=30))
def test_every_place_stays_on_the_line(places: list[tuple[float, float]]) -> None:
    longitude, latitude = (np.array(each) for each in zip(*places, strict=True))
    drawn = set(zip(*broken(longitude, latitude), strict=True))
    assert set(places) <= drawn
    assert (_jumps(broken(longitude, latitude)[0]) <= 180).all()


def test_objects_and_sensors_are_named() -> None:
    texts = texts_of(ground_tracks(tracks_of(CATALOG, NOW), SITES, NOW))
    assert {"MERIDIAN 1", "MERIDIAN 25", "MERIDIAN 6", "radar-14", "optical-maui"} <= set(texts)
    assert "Ground tracks of MERIDIAN 1, MERIDIAN 25 and MERIDIAN 6" in texts


def test_an_object_without_a_name_is_called_by_its_number() -> None:
    assert "Ground track of 90001" in texts_of(ground_tracks(tracks_of([elements(name="")], NOW), [], NOW))


def test_without_sensors_there_are_tracks_still() -> None:
    assert rendered(ground_tracks(tracks_of(CATALOG[:1], NOW), [], NOW), Form.SVG)


def test_nothing_to_draw_is_an_error_with_a_remedy() -> None:
    with pytest.raises(InvalidRequest, match="catalog list"):
        ground_tracks([], SITES, NOW)


def test_what_has_decayed_has_no_track() -> None:
    assert tracks_of([elements(mean_motion_rev_day=16.4, bstar=0.1)], NOW + 300 * 86_400 * 10**9) == []


def test_objects_that_are_about_to_meet_are_named_on_sides_of_their_own() -> None:
    assert corners_of([(70.0, -1.0), (71.0, -2.0)]) == [(1, 1), (-1, -1)]
    assert corners_of([(10.0, 5.0), (90.0, 5.0)]) == [(1, 1), (1, 1)]


def test_a_name_does_not_go_beyond_the_edge_of_the_map() -> None:
    assert corners_of([(175.0, 0.0)]) == [(-1, -1)]
    assert corners_of([(-175.0, 0.0)]) == [(1, 1)]
