"""The public names of the orbit tools. A change here is a change that users see."""

from __future__ import annotations

import subprocess
import sys

import meridian.orbit

PUBLIC = """
    Approach Assessment CatalogFile CatalogForm Caveat CdmObject ConjunctionMessage Conjunctions Directions
    EarthOrientation Elements Encounter EncounterPlane Flaw Gravity InvalidElements InvalidEncounter InvalidMessage
    InvalidScreening Looks Measurement Method Optical OrbitError Prediction Progress PropagationFailed Propagator Radar
    Refusal Screening Site Source Span StateVector States Subject Violation assess assess_message chan conjunctions
    curved directions encounter_of
    fixed_to_geodetic fixed_to_teme format_ccsds format_csv format_json format_kvn format_tle
    format_xml foster geodetic_to_fixed look maximum maximum_without_covariance monte_carlo moved parse_ccsds
    parse_tle plane_of read_catalog read_cdm rotated_covariance rtn_basis screen sidereal_time straight_tca
    teme_to_fixed write_cdm
"""


def test_the_public_names_are_these() -> None:
    assert sorted(meridian.orbit.__all__) == sorted(PUBLIC.split())
    assert all(hasattr(meridian.orbit, name) for name in meridian.orbit.__all__)


def test_reading_a_catalog_loads_no_numerics() -> None:
    code = (
        "import sys, meridian.orbit; meridian.orbit.parse_ccsds; print('scipy' in sys.modules, 'sgp4' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
