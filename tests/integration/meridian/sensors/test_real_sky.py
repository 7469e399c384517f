"""Networks under the real catalog: what they send is taken in whole."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from tests.support.orbit_data import catalog_text, catalogs

from meridian.orbit import read_catalog
from meridian.sensors import Catalog, Screen, SourceKind, radar_frame, standard_rules
from meridian.sensors.simulate.objects import Objects
from meridian.sensors.simulate.scenario import Scenario, emissions

START = 1_787_356_800_000_000_000
"""2026-08-22, the day of the newest catalog."""


@pytest.mark.parametrize("catalog", catalogs()[-1:], ids=lambda path: path.name)
def test_every_frame_of_the_real_catalog_is_an_observation(catalog: Path) -> None:
    objects = Objects.of(read_catalog(catalog_text(catalog)).elements)
    scenario = Scenario(objects=objects, start_ns=START, seconds=1, radar_rate=300, optical_rate=1, satellites=1)
    frames = b"".join(each.data for each in islice(emissions(scenario), 900) if each.kind is SourceKind.RADAR)
    screened = Screen(standard_rules(Catalog(frozenset(objects.numbers.tolist()))))(radar_frame.decode(frames, START))
    assert len(objects) > 10_000
    assert (len(screened.good) > 500, screened.refused) == (True, ())
