"""Which probability is given, which is withheld, and what is said about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support import conjunction_oracle as oracle
from tests.support.conjunction_texts import Message, Written, circular, orbital_covariance

from meridian.orbit.cdm import read_cdm
from meridian.orbit.errors import InvalidEncounter
from meridian.orbit.pc import Assessment, Flaw, Method, Remedy, Subject, Violation, assess, encounter_of

FIRST = circular(7.0e6, 0.9)
SECOND = circular(7.0e6, 1.8) + np.array([40.0, -30.0, 20.0, 0.0, 0.0, 0.0])
WELL_KNOWN = orbital_covariance(FIRST, (12.0, 15.0, 10.0), along_m=120.0)
POORLY_KNOWN = orbital_covariance(FIRST, (12.0, 15.0, 10.0), along_m=30_000.0)


def message(first: Written | None = None, second: Written | None = None, **others: object) -> Message:
    objects = (first or Written(FIRST, WELL_KNOWN), second or Written(SECOND, WELL_KNOWN))
    return replace(Message(objects), **others)  # type: ignore[arg-type]


def assessed(text: str) -> Assessment:
    return assess(encounter_of(read_cdm(text)))


def flaws(found: Assessment) -> set[tuple[Flaw, Subject]]:
    return {(caveat.flaw, caveat.subject) for caveat in found.caveats}


def without_velocity(covariance: np.ndarray) -> np.ndarray:
    positions = covariance.copy()
    positions[3:], positions[:, 3:] = 0.0, 0.0
    return positions


@pytest.mark.parametrize("frame", ["EME2000", "GCRF", "ITRF"])
@pytest.mark.req("ORB-05")
def test_the_probability_does_not_depend_on_the_frame(frame: str) -> None:
    text = message(Written(FIRST, WELL_KNOWN, frame=frame), Written(SECOND, WELL_KNOWN, frame=frame)).text
    expected = oracle.planar(oracle.pair_of(message().text))
    found = assessed(text)
    assert found.method is Method.PLANAR
    assert found.caveats == ()
    assert found.probability == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("frames", [("ITRF", "EME2000"), ("GCRF", "EME2000"), ("GCRF", "ITRF")])
def test_states_in_two_frames_are_refused(frames: tuple[str, str]) -> None:
    text = message(Written(FIRST, WELL_KNOWN, frame=frames[0]), Written(SECOND, WELL_KNOWN, frame=frames[1])).text
    with pytest.raises(InvalidEncounter, match=f"object 1 in {frames[0]} and object 2 in {frames[1]}"):
        assessed(text)


def test_another_body_than_the_earth_is_refused() -> None:
    with pytest.raises(InvalidEncounter, match="orbits MOON"):
        assessed(message(second=Written(SECOND, WELL_KNOWN, center="MOON")).text)


@pytest.mark.parametrize(
    ("state", "what"),
    [
        (SECOND * 1e-3, "from the centre of the Earth"),
        (SECOND * np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), "not bound"),
        (np.array([7.0e6, 0.0, 0.0, 100.0, 0.0, 0.0]), "straight down"),
        (np.full(6, 1e25), "from the centre of the Earth"),
        (FIRST + np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "do not move against each other"),
    ],
)
def test_a_state_that_is_no_orbit_is_refused(state: np.ndarray, what: str) -> None:
    with pytest.raises(InvalidEncounter, match=what):
        assessed(message(second=Written(state, WELL_KNOWN)).text)


@pytest.mark.parametrize("radius", [float("inf"), float("nan"), 0.0, -1.0])
def test_a_radius_that_is_no_size_is_refused(radius: float) -> None:
    with pytest.raises(InvalidEncounter, match="radius"):
        encounter_of(read_cdm(message().text), radius)


@pytest.mark.parametrize("subject", [Subject.FIRST, Subject.SECOND])
@pytest.mark.parametrize(
    ("covariance", "method", "flaw"),
    [
        (np.zeros((6, 6)), "CALCULATED", Flaw.NO_COVARIANCE),
        (WELL_KNOWN * np.outer([1, 1, 0, 1, 1, 1], [1, 1, 0, 1, 1, 1]), "CALCULATED", Flaw.NO_COVARIANCE),
        (np.diag([6.378e7**2] * 3 + [1e4] * 3), "CALCULATED", Flaw.PLACEHOLDER_COVARIANCE),
        (np.diag([1e30] * 6), "CALCULATED", Flaw.PLACEHOLDER_COVARIANCE),
        (WELL_KNOWN, "DEFAULT", Flaw.DEFAULT_COVARIANCE),
    ],
)
@pytest.mark.req("ORB-07")
def test_an_object_whose_position_is_not_known_has_no_probability(
    covariance: np.ndarray, method: str, flaw: Flaw, subject: Subject
) -> None:
    state = FIRST if subject is Subject.FIRST else SECOND
    spoiled = Written(state, covariance, method)
    found = assessed((message(spoiled) if subject is Subject.FIRST else message(second=spoiled)).text)
    assert (found.probability, found.method, found.planar, found.curved) == (None, None, None, None)
    assert flaws(found) == {(flaw, subject)}
    assert found.reason is not None
    assert subject.value.capitalize() in found.reason


@pytest.mark.req("ORB-07")
def test_both_covariances_zero_have_no_probability() -> None:
    nothing = np.zeros((6, 6))
    found = assessed(message(Written(FIRST, nothing), Written(SECOND, nothing)).text)
    assert found.probability is None
    assert flaws(found) == {(Flaw.NO_COVARIANCE, Subject.FIRST), (Flaw.NO_COVARIANCE, Subject.SECOND)}


@pytest.mark.req("ORB-06")
def test_without_velocity_covariance_a_short_encounter_has_its_planar_probability() -> None:
    bare = without_velocity(WELL_KNOWN)
    text = message(Written(FIRST, bare), Written(SECOND, bare)).text
    found = assessed(text)
    assert (found.method, found.curved, found.violations) == (Method.PLANAR, None, frozenset())
    assert found.probability == pytest.approx(oracle.planar(oracle.pair_of(text)), rel=1e-7)
    assert {flaw for flaw, _ in flaws(found)} == {Flaw.NO_VELOCITY_COVARIANCE}


@pytest.mark.req("ORB-06")
def test_without_velocity_covariance_an_ellipse_along_a_bent_orbit_has_no_probability() -> None:
    bare = without_velocity(POORLY_KNOWN)
    found = assessed(message(Written(FIRST, bare), Written(SECOND, bare)).text)
    assert found.probability is None
    assert found.planar is not None
    assert found.violations == {Violation.BENT}
    assert found.reason is not None
    assert "bent" in found.reason


@pytest.mark.req("ORB-06")
def test_without_velocity_covariance_a_slow_encounter_has_no_probability() -> None:
    beside = FIRST + np.array([20.0, 0.0, 10.0, 0.0, 0.2, 0.3])
    found = assessed(message(Written(FIRST, without_velocity(WELL_KNOWN)), Written(beside, WELL_KNOWN)).text)
    assert found.probability is None
    assert Violation.EXTENDED in found.violations
    assert flaws(found) == {(Flaw.NO_VELOCITY_COVARIANCE, Subject.FIRST)}


@pytest.mark.req("ORB-06")
def test_a_velocity_that_does_not_follow_the_error_along_the_orbit_is_not_trusted() -> None:
    diagonal = np.diag(np.diag(POORLY_KNOWN))
    diagonal[3:, 3:] = np.eye(3) * 1e-4
    found = assessed(message(Written(FIRST, diagonal), Written(SECOND, diagonal)).text)
    assert found.probability is None
    assert {flaw for flaw, _ in flaws(found)} == {Flaw.UNCOUPLED_VELOCITY}


def indefinite(correlation: float, row: int, column: int) -> np.ndarray:
    """A covariance with one correlation that the others do not allow."""
    spoiled = WELL_KNOWN.copy()
    spoiled[row, column] = spoiled[column, row] = correlation * np.sqrt(spoiled[row, row] * spoiled[column, column])
    return spoiled


@pytest.mark.req("ORB-07")
def test_a_position_covariance_that_is_not_positive_definite_has_no_probability() -> None:
    found = assessed(message(second=Written(SECOND, indefinite(1.5, 1, 0))).text)
    assert found.probability is None
    assert flaws(found) == {(Flaw.INDEFINITE_POSITION, Subject.SECOND)}


@pytest.mark.req("ORB-07")
def test_a_velocity_covariance_that_is_not_positive_definite_leaves_the_planar_probability() -> None:
    spoiled = Written(SECOND, indefinite(0.9, 4, 3))
    found = assessed(message(second=spoiled).text)
    assert np.linalg.eigvalsh(spoiled.covariance)[0] < 0.0
    assert (found.method, found.curved) == (Method.PLANAR, None)
    assert found.probability == pytest.approx(oracle.planar(oracle.pair_of(message().text)), rel=1e-7)
    assert flaws(found) == {(Flaw.INDEFINITE_VELOCITY, Subject.SECOND)}


@pytest.mark.req("ORB-07")
def test_a_covariance_that_rounding_left_not_positive_definite_is_remedied_and_named() -> None:
    perfect = orbital_covariance(SECOND, (12.0, 15.0, 10.0), along_m=3_000.0)
    perfect[3, 3] *= 1.0 - 4e-5
    spoiled = perfect * np.where(np.eye(6, k=-2) + np.eye(6, k=2), 1.0 + 1e-4, 1.0)
    assert np.linalg.eigvalsh(spoiled / np.sqrt(np.outer(np.diag(spoiled), np.diag(spoiled))))[0] < -1e-5
    found = assessed(message(second=Written(SECOND, spoiled)).text)
    expected = assessed(message(second=Written(SECOND, orbital_covariance(SECOND, (12, 15, 10), 3_000.0))).text)
    assert found.remedies == {Remedy.SECOND}
    assert expected.remedies == frozenset()
    assert found.probability == pytest.approx(expected.probability, rel=1e-2)


def test_a_miss_distance_that_contradicts_the_states_is_told() -> None:
    expected = assessed(message().text)
    found = assessed(message(miss_m=4_000.0).text)
    assert found.probability == expected.probability
    assert [caveat.flaw for caveat in found.caveats] == [Flaw.MISS_DISTANCE]
    apart, speed = (SECOND - FIRST)[:3], (SECOND - FIRST)[3:]
    closest = np.linalg.norm(apart - (apart @ speed) / (speed @ speed) * speed)
    assert f"within {closest:.0f} m" in found.caveats[0].text
    assert "4,000 m" in found.caveats[0].text


def test_objects_that_stay_together_have_no_probability_of_one_encounter() -> None:
    beside = FIRST + np.array([0.0, 60.0, 0.0, 0.0, 0.0, 0.001])
    covariance = orbital_covariance(FIRST, (20.0, 20.0, 20.0), along_m=100.0)
    found = assessed(message(Written(FIRST, covariance), Written(beside, covariance)).text)
    assert found.probability is None
    assert (Flaw.INCOMPLETE, Subject.BOTH) in flaws(found)
    assert found.curved is not None
    assert not found.curved.complete
