"""Which probability is given, which is withheld, and what is said about it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from tests.support import conjunction_oracle as oracle
from tests.support.conjunction_texts import Message, Written, circular, orbital_covariance

from meridian.orbit.cdm import read_cdm
from meridian.orbit.errors import InvalidEncounter, InvalidMessage
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


def test_a_message_without_a_radius_is_refused() -> None:
    with pytest.raises(InvalidEncounter, match="says no hard-body radius"):
        assessed(message(radius_m=None).text)


def test_a_radius_of_a_kilometre_is_told() -> None:
    assert flaws(assessed(message(radius_m=1_000.0).text)) == {(Flaw.LARGE_RADIUS, Subject.BOTH)}
    assert flaws(assessed(message(radius_m=120.0).text)) == set()


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


def relative_state(first: np.ndarray, second: np.ndarray, sign: float = 1.0) -> dict[str, float]:
    """The relative state of a message, in RTN of the first object."""
    axes = oracle.rtn_axes(first).T
    halves = {"POSITION": axes @ (second - first)[:3], "VELOCITY": axes @ (second - first)[3:]}
    return {
        f"RELATIVE_{half}_{axis}": round(sign * float(value), 1)
        for half, values in halves.items()
        for axis, value in zip("RTN", values, strict=True)
    }


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_relative_state_that_follows_from_the_states_is_nothing_to_tell(sign: float) -> None:
    assert assessed(message(relative=relative_state(FIRST, SECOND, sign)).text).caveats == ()


def test_earth_fixed_states_that_are_called_inertial_are_told_by_the_relative_state() -> None:
    fixed = [np.concatenate(oracle.to_fixed(state[:3], state[3:], message().tca)) for state in (FIRST, SECOND)]
    first, second = (Written(state, WELL_KNOWN, frame="EME2000") for state in fixed)
    found = assessed(message(first, second, relative=relative_state(FIRST, SECOND)).text)
    assert flaws(found) == {(Flaw.RELATIVE_STATE, Subject.BOTH)}
    assert "relative velocity of the message differs from its states by" in " ".join(
        each.text for each in found.caveats
    )


@pytest.mark.parametrize("keyword", ["X", "Y_DOT", "CR_R", "CNDOT_NDOT", "MISS_DISTANCE"])
@pytest.mark.parametrize("value", ["NaN", "inf", "1e999"])
def test_what_is_no_number_is_refused_with_its_keyword(keyword: str, value: str) -> None:
    text = re.sub(rf"^{keyword} = .*$", f"{keyword} = {value}", message().text, count=1, flags=re.MULTILINE)
    with pytest.raises(InvalidMessage, match=f"{keyword} is '{value}' and must be a finite decimal number"):
        read_cdm(text)


@pytest.mark.req("ORB-06")
def test_an_error_along_the_orbit_at_the_apogee_of_a_transfer_orbit_is_followed_by_the_velocity() -> None:
    geostationary, transfer = circular(4.2164e7, 0.0), circular(4.2164e7, 0.5)
    transfer[3:] *= 0.52
    sigma_s = np.hypot(*(20e3 / np.linalg.norm(state[3:]) for state in (geostationary, transfer)))
    states = oracle.closest_when_late((geostationary, transfer), sigma_s)
    written = [Written(state, orbital_covariance(state, (40.0, 30.0, 20.0), along_m=20e3)) for state in states]
    text = message(written[0], written[1]).text
    own = np.diag(np.square([40.0, 30.0, 20.0]))
    found = assessed(text)
    assert found.method is Method.CURVED
    assert found.probability == pytest.approx(oracle.late(oracle.pair_of(text), (own, own), sigma_s, 1.0), rel=0.03)


def early(state: np.ndarray, seconds: float) -> Written:
    """An object some time before, with its covariance of that time."""
    states, transitions = oracle.followed(state, np.array([-seconds]))
    now, then = (np.kron(np.eye(2), oracle.rtn_axes(each)) for each in (state, states[0]))
    covariance = then.T @ transitions[0] @ now @ WELL_KNOWN @ now.T @ transitions[0].T @ then
    return Written(states[0], 0.5 * (covariance + covariance.T))


@pytest.mark.parametrize("seconds", [0.5, 5.0, 60.0, 600.0])
@pytest.mark.req("ORB-06")
def test_states_of_another_time_than_the_closest_approach_have_the_same_probability(seconds: float) -> None:
    expected = oracle.planar(oracle.pair_of(message().text))
    found = assessed(message(early(FIRST, seconds), early(SECOND, seconds)).text)
    assert found.probability == pytest.approx(expected, rel=0.025)
