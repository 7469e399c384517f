"""The simulated sensors of an operation: what they send is what its catalog and its sites have names for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.simulated import observed, positions_by_catalog, positions_by_radar

from meridian.hosting.demonstration import OURS, SITES, prepare
from meridian.hosting.simulator import scenario
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.sensors import SourceKind
from meridian.sensors.simulate import Emission, Noise, emissions

START = 1_786_000_000_000_000_000
RADAR, OPTICAL, ISL = SourceKind
EXACT = Noise(0, 0, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    prepare(made, now_ns=START)
    return made


def sent(home: Home, *, from_ns: int = START) -> list[Emission]:
    """What leaves the networks in two seconds, when nothing is measured wrongly."""
    return list(emissions(replace(scenario(home, start_ns=from_ns), seconds=2, noise=EXACT)))


def known(home: Home) -> frozenset[int]:
    return frozenset(each.norad for each in read_elements(home.catalog) if each.norad)


def test_every_radar_and_telescope_comes_out_of_the_edge_by_the_name_of_its_site(home: Home) -> None:
    within_an_orbit = [
        each for minutes in range(0, 90, 10) for each in sent(home, from_ns=START + minutes * 60 * 10**9)
    ]
    for kind in (RADAR, OPTICAL):
        sites = {name for name in SITES if name.startswith(f"{kind.prefix}-")}
        assert set(observed(within_an_orbit, kind, known(home)).source_ids.to_pylist()) == sites


def test_radars_see_objects_of_the_catalog_where_they_really_are(home: Home) -> None:
    seen = observed(sent(home), RADAR, known(home))
    really = positions_by_catalog(seen, read_elements(home.truth))
    assert np.abs(positions_by_radar(seen, home.document().places()) - really).max() < 0.01


def test_our_satellites_tell_of_themselves(home: Home) -> None:
    ours = {each.object_id for each in read_elements(home.catalog) if each.name.startswith("MERIDIAN ")}
    assert set(observed(sent(home), ISL, known(home)).object_ids.to_pylist()) == ours
    assert len(ours) == OURS


def test_a_radar_that_was_taken_out_of_the_document_leaves_the_others_their_numbers(home: Home) -> None:
    text = home.document_file.read_text()
    home.document_file.write_text(text.replace("[sites.radar-2]", "[sites.elsewhere]"))
    assert sorted(scenario(home, start_ns=START).radars) == [1, *range(3, 15)]
