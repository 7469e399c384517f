"""Probabilities of every real message against NASA's values, and Alfano's cases against his and theirs."""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

import pytest
from tests.support import conjunction_oracle as oracle
from tests.support.conjunction_texts import with_frame
from tests.support.orbit_data import DATA, messages

from meridian.orbit.cdm import read_cdm
from meridian.orbit.pc import (
    Assessment,
    Encounter,
    Flaw,
    Method,
    Span,
    Subject,
    Violation,
    assess,
    curved,
    encounter_of,
    foster,
    plane_of,
)

EXPECTED = list(csv.DictReader((DATA / "cdm" / "expected.csv").read_text().splitlines()))


def encounter(path: Path, radius_m: float | None = None) -> Encounter:
    return encounter_of(read_cdm(path.read_text()), radius_m)


@cache
def assessed(name: str, radius_m: float) -> Assessment:
    return assess(encounter(DATA / "cdm" / f"{name}.cdm", radius_m))


def of(row: dict[str, str]) -> Assessment:
    return assessed(row["Conjunction_ID"], float(row["HBR_m"]))


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["Conjunction_ID"])
@pytest.mark.req("ORB-05")
def test_the_planar_value_of_a_real_message(row: dict[str, str]) -> None:
    assert of(row).planar == pytest.approx(float(row["Pc2D"]), rel=2e-8, abs=0.0)


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["Conjunction_ID"])
@pytest.mark.req("ORB-06")
def test_the_curved_value_of_a_real_message(row: dict[str, str]) -> None:
    found = of(row).curved
    assert found is not None
    assert found.complete
    sampled = float(row["PcSDMCLo"]) <= found.probability <= float(row["PcSDMCHi"])
    assert sampled or found.probability == pytest.approx(float(row["Nc3D"]), rel=1e-2)


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["Conjunction_ID"])
@pytest.mark.req("ORB-06")
def test_the_flags_of_a_real_message(row: dict[str, str]) -> None:
    flags = f"{int(row['ViolationsPc2D']):03d}"
    expected = {Violation.INACCURATE} if flags[0] == "1" else set()
    expected |= {Violation.EXTENDED, Violation.OFFSET} if flags[1:] == "11" else set()
    assert of(row).violations == expected


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["Conjunction_ID"])
@pytest.mark.req("ORB-05")
def test_a_real_message_written_in_itrf_has_the_same_probability(row: dict[str, str]) -> None:
    text = with_frame((DATA / "cdm" / f"{row['Conjunction_ID']}.cdm").read_text(), "ITRF")
    expected, found = of(row), assess(encounter_of(read_cdm(text)))
    assert found.planar == pytest.approx(float(row["Pc2D"]), rel=2e-8, abs=0.0)
    assert found.violations == expected.violations
    assert found.probability == pytest.approx(expected.probability, rel=1e-3)


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["Conjunction_ID"])
@pytest.mark.req("ORB-05")
def test_the_polar_motion_that_is_neglected_in_itrf_changes_little(row: dict[str, str]) -> None:
    pole = math.radians(0.5 / 3600.0), math.radians(-0.5 / 3600.0)
    text = with_frame((DATA / "cdm" / f"{row['Conjunction_ID']}.cdm").read_text(), "ITRF", pole)
    found = foster(plane_of(encounter_of(read_cdm(text))))
    assert found == pytest.approx(float(row["Pc2D"]), rel=3e-4, abs=1e-50)


@pytest.mark.parametrize("path", [path for path in messages() if "NonPD" not in path.stem], ids=lambda path: path.stem)
@pytest.mark.parametrize("frame", ["EME2000", "GCRF", "ITRF"])
@pytest.mark.req("ORB-05")
def test_the_planar_value_is_the_one_of_the_contour_in_every_frame(path: Path, frame: str) -> None:
    text = with_frame(path.read_text(), frame)
    if "HBR" not in text:
        text = text.replace("OBJECT ", "COMMENT HBR = 20 [m]\nOBJECT ", 1)
    assert foster(plane_of(encounter_of(read_cdm(text)))) == pytest.approx(
        oracle.planar(oracle.pair_of(text)), rel=1e-6, abs=1e-15
    )


PLANAR = [
    1.46749549e-1, 6.222267e-3, 1.00351176e-1, 4.9323406e-2, 4.4487386e-2, 4.335455e-3, 1.58147e-4, 3.6948008e-2,
    2.90146291e-1, 2.90146291e-1, 2.672026e-3,
]  # fmt: skip
CURVED = [
    0.2168083628, 0.0155677490, 0.1003364232, 0.0736404194, 0.0444898133, 0.0043331310, 0.0001618412, 0.0352501750,
    0.2798342615, 0.3640637965, 0.0024407488,
]  # fmt: skip
HALF_SPANS_S = [21600, 21600, 21600, 21600, 1419, 1419, 1419, 10135, 10800, 21600, 1420]
CASES = range(1, 12)


def alfano(case: int) -> Encounter:
    return encounter(DATA / "alfano" / f"AlfanoTestCase{case:02d}.cdm")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.req("ORB-05")
def test_the_planar_value_of_alfanos_case(case: int) -> None:
    assert foster(plane_of(alfano(case))) == pytest.approx(PLANAR[case - 1], rel=1e-3)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.req("ORB-06")
def test_the_curved_value_of_alfanos_case(case: int) -> None:
    half = HALF_SPANS_S[case - 1]
    tolerance = 3e-3 if case == 2 else 1e-3  # the message rounds its relative speed of 14 mm/s to a thousandth of it
    assert curved(alfano(case), Span(-half, half)).probability == pytest.approx(CURVED[case - 1], rel=tolerance)


@pytest.mark.parametrize("case", [1, 2, 4, 10])
@pytest.mark.req("ORB-06")
def test_alfanos_cases_in_which_the_planar_value_is_wrong_are_flagged(case: int) -> None:
    assert Violation.INACCURATE in assess(alfano(case)).violations


@pytest.mark.req("ORB-06")
def test_the_case_in_which_the_two_differ_by_fifteen_orders() -> None:
    found = assessed("OmitronTestCase_Test08_3DNc", 20.0)
    assert found.planar == pytest.approx(2.2660816e-20, rel=1e-3)
    assert found.method is Method.CURVED
    assert found.probability == pytest.approx(1.9271201e-05, rel=1e-3)
    assert Violation.INACCURATE in found.violations


@pytest.mark.req("ORB-07")
def test_the_covariance_that_is_not_positive_definite_has_no_probability() -> None:
    found = assessed("OmitronTestCase_Test07_NonPDCovariance", 20.0)
    assert found.probability is None
    assert [(caveat.flaw, caveat.subject) for caveat in found.caveats] == [
        (Flaw.PLACEHOLDER_COVARIANCE, Subject.SECOND)
    ]


@pytest.mark.req("ORB-06")
def test_messages_without_velocity_covariance_have_the_planar_probability_only_where_it_needs_no_check() -> None:
    small = assessed("OmitronTestCase_Test01_HighPc", 20.0)
    large = assessed("OmitronTestCase_Test03_MaxIntrackSigma", 20.0)
    assert (small.method, small.curved) == (Method.PLANAR, None)
    assert (large.probability, large.violations) == (None, {Violation.BENT})


@pytest.mark.req("ORB-06")
def test_alfanos_case_in_which_the_objects_do_not_part_has_no_probability_of_one_encounter() -> None:
    found = assess(alfano(11))
    assert found.probability is None
    assert Flaw.INCOMPLETE in {caveat.flaw for caveat in found.caveats}
