"""References: SGP4 between its own times, and how what is known of objects moves with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.made_up_objects import EPOCH, made_up_objects

from meridian.fusion.estimates import Estimates
from meridian.fusion.exact import Floats
from meridian.fusion.references import CatalogError, References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit.frames import rtn_basis
from meridian.orbit.propagation import Propagator

WINDOWS = Windows()
RANDOM = np.random.default_rng(5)
ELEMENTS = made_up_objects(40)
REFERENCES = References(Propagator(ELEMENTS), WINDOWS)
FIRST = EPOCH // WINDOWS.size


def exact(objects: np.ndarray, times: np.ndarray) -> Floats:
    propagator = Propagator(ELEMENTS)
    pairs = zip(objects.tolist(), times.tolist(), strict=True)
    return np.array([propagator.state(number, time)[0] for number, time in pairs])


def test_a_reference_is_where_sgp4_is_and_as_fast_as_its_positions_change() -> None:
    objects, times = RANDOM.integers(0, 40, 500), EPOCH + RANDOM.integers(0, 86_400 * SECOND, 500)
    found = REFERENCES.states(objects, times)
    slope = (exact(objects, times + SECOND // 10) - exact(objects, times - SECOND // 10)) / 0.2
    assert np.abs(found[:, :3] - exact(objects, times)).max() < 1e-3
    assert np.abs(found[:, 3:] - slope).max() < 1e-3


def test_the_end_of_a_slice_is_the_beginning_of_the_next() -> None:
    objects = np.arange(40)
    ends = REFERENCES.at_end(objects, np.full(40, FIRST))
    begins = REFERENCES.states(objects, np.full(40, WINDOWS.end(FIRST)))
    assert np.abs(ends - begins).max() < 1e-5


def test_what_was_asked_before_does_not_show() -> None:
    objects, times = np.arange(40), np.full(40, EPOCH + 7 * SECOND)
    before = REFERENCES.states(objects, times)
    for later in range(20):
        REFERENCES.states(objects, times + later * WINDOWS.size)
    assert np.array_equal(REFERENCES.states(objects, times), before)


@pytest.mark.parametrize(("slices", "near"), [(1, 1e-3), (10, 0.02), (360, 0.05)])
def test_a_deviation_moves_as_sgp4_moves_an_object_that_is_a_little_off(slices: int, near: float) -> None:
    shifted = [replace(each, mean_motion_rev_day=each.mean_motion_rev_day * 1.00002) for each in ELEMENTS]
    objects, start = np.arange(40), np.full(40, FIRST)
    off = References(Propagator(shifted), WINDOWS)
    known = Estimates(off.at_end(objects, start) - REFERENCES.at_end(objects, start), np.zeros((40, 6, 6)))
    found = REFERENCES.moved(known, objects, start, start + slices).deviation
    expected = off.at_end(objects, start + slices) - REFERENCES.at_end(objects, start + slices)
    error = np.linalg.norm((found - expected)[:, :3], axis=1) / np.linalg.norm(expected[:, :3], axis=1)
    assert np.median(error) < near


def test_the_catalog_is_believed_less_along_the_track_and_the_older_it_is() -> None:
    at_once, a_day_later = (known_along_axes(FIRST + slices) for slices in (0, 2880))
    error = CatalogError()
    assert np.allclose(at_once, error.at_epoch, rtol=1e-2)
    assert np.allclose(a_day_later, np.add(error.at_epoch, error.a_day), rtol=1e-2)


def known_along_axes(slice_: int) -> Floats:
    """The standard deviations of places along radius, track and normal."""
    objects, slices = np.arange(40), np.full(40, slice_)
    states = REFERENCES.at_end(objects, slices)
    basis = rtn_basis(states[:, :3], states[:, 3:])
    own = basis @ REFERENCES.prior(objects, slices).covariance[:, :3, :3] @ basis.swapaxes(1, 2)
    sigma: Floats = np.sqrt(np.diagonal(own, axis1=1, axis2=2))
    return sigma
