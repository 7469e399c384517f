"""Screening of 2,000 objects of the real catalog against brute force."""

from __future__ import annotations

import pytest
from tests.support.brute_force import brute_force
from tests.support.orbit_data import catalog_text, catalogs

from meridian.orbit.catalog import read_catalog
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening import Screening, screen

MINUTE_NS = 60_000_000_000
START_NS = 1_787_270_400_000_000_000


@pytest.mark.timeout(600)
@pytest.mark.req("ORB-08")
def test_two_thousand_real_objects_against_brute_force() -> None:
    elements = read_catalog(catalog_text(catalogs()[1])).elements
    chosen = elements[:: len(elements) // 2000][:2000]
    asked = Screening(START_NS, START_NS + 15 * MINUTE_NS, 50_000.0, processes=1)
    expected = brute_force(Propagator(chosen), asked.start_ns, asked.end_ns, asked.threshold_m)
    ours = {(each.first, each.second, round(each.tca_ns / MINUTE_NS)): each for each in screen(chosen, asked)}
    assert len(expected) > 50
    assert expected.keys() == ours.keys()
    for key, (tca, miss) in expected.items():
        assert ours[key].tca_ns == pytest.approx(tca, abs=10_000_000)
        assert ours[key].miss_m == pytest.approx(miss, abs=5.0)
