"""Planar probabilities against published values, and what must hold of any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.special import gammainc
from scipy.stats import poisson
from tests.support.cdm_text import MESSAGE

from meridian.orbit.cdm import read_cdm
from meridian.orbit.errors import InvalidEncounter
from meridian.orbit.pc import (
    Encounter,
    EncounterPlane,
    chan,
    encounter_of,
    foster,
    maximum,
    maximum_without_covariance,
    plane_of,
)


def of_positions(covariance_km2: list[list[float]]) -> np.ndarray:
    whole = np.zeros((6, 6))
    whole[:3, :3] = np.array(covariance_km2) * 1e6
    return whole


OMITRON = Encounter(
    first=np.array([378.39559, 4305.721887, 5752.767554, 2.360800244, 5.580331936, -4.322349039]) * 1e3,
    second=np.array([374.5180598, 4307.560983, 5751.130418, -5.388125081, -3.946827739, 3.322820358]) * 1e3,
    first_covariance=of_positions([
        [44.5757544811362, 81.6751751052616, -67.8687662707124],
        [81.6751751052616, 158.453402956163, -128.616921644857],
        [-67.8687662707124, -128.616921644858, 105.490542562701],
    ]),
    second_covariance=of_positions([
        [2.31067077720423, 1.69905293875632, -1.4170164577661],
        [1.69905293875632, 1.24957388457206, -1.04174164279599],
        [-1.4170164577661, -1.04174164279599, 0.869260558223714],
    ]),
    hard_body_radius_m=20.0,
)  # fmt: skip
"""The case of NASA's own unit test of Foster's method."""


@pytest.mark.req("ORB-05")
def test_foster_agrees_with_nasas_value() -> None:
    assert foster(plane_of(OMITRON)) == pytest.approx(2.70601573490125e-05, rel=1e-5)


CHAN = [
    ((0, 10, 25, 50, 5), 9.754e-3), ((10, 0, 25, 50, 5), 9.189e-3), ((0, 10, 25, 75, 5), 6.586e-3),
    ((10, 0, 25, 75, 5), 6.135e-3), ((0, 1000, 1000, 3000, 10), 1.577e-5), ((1000, 0, 1000, 3000, 10), 1.011e-5),
    ((0, 10000, 1000, 3000, 10), 6.443e-8), ((10000, 0, 1000, 3000, 10), 3.216e-27),
    ((0, 10000, 1000, 10000, 10), 3.033e-6), ((10000, 0, 1000, 10000, 10), 9.645e-28),
    ((0, 5000, 1000, 3000, 50), 1.039e-4), ((5000, 0, 1000, 3000, 50), 1.556e-9),
    ((84.875546, 60.583685, 57.918666, 152.8814468, 10.3), 1.8934e-3),
]  # fmt: skip


def plane(case: tuple[float, ...]) -> EncounterPlane:
    """Chan's cases have the short axis first."""
    x, y, sigma_x, sigma_y, radius = case
    return EncounterPlane((y, x), (sigma_y, sigma_x), radius)


@pytest.mark.parametrize(("case", "expected"), CHAN)
@pytest.mark.req("ORB-05")
def test_chan_agrees_with_his_published_cases(case: tuple[float, ...], expected: float) -> None:
    digits = 1e-3 if expected != 1.8934e-3 else 1e-4
    found = chan(plane(case))
    assert found.probability == pytest.approx(expected, rel=0.5 * digits)
    assert found.truncation_bound <= 1e-9 * expected


@pytest.mark.parametrize(
    ("case", "exact"), [(CHAN[0][0], 9.742e-3), (CHAN[1][0], 9.181e-3), (CHAN[2][0], 6.571e-3), (CHAN[3][0], 6.125e-3)]
)
@pytest.mark.req("ORB-05")
def test_foster_is_exact_where_chan_is_not(case: tuple[float, ...], exact: float) -> None:
    assert foster(plane(case)) == pytest.approx(exact, abs=1.1e-6)
    assert abs(chan(plane(case)).probability - exact) > 5e-6


@pytest.mark.parametrize("terms", [1, 2, 3, 5, 9])
@pytest.mark.req("ORB-05")
def test_what_chan_cuts_off_is_within_its_bound(terms: int) -> None:
    case = EncounterPlane((4.0, 2.0), (3.0, 1.5), 2.5)
    cut, whole = chan(case, terms), chan(case, 200)
    assert 0.0 < whole.probability - cut.probability <= cut.truncation_bound


planes = st.builds(
    EncounterPlane,
    st.tuples(st.floats(-30, 30), st.floats(-30, 30)),
    st.floats(1, 20).flatmap(lambda short: st.tuples(st.floats(short, 60), st.just(short))),
    st.floats(0.1, 20),
)


@settings(deadline=None, max_examples=30)
@given(planes)
@pytest.mark.req("ORB-05")
def test_foster_is_the_integral_over_the_disc(case: EncounterPlane) -> None:
    (x, y), (long, short), radius = case.miss_m, case.sigma_m, case.radius_m

    def density(across: float, along: float) -> float:
        return float(np.exp(-0.5 * ((along - x) / long) ** 2 - 0.5 * ((across - y) / short) ** 2))

    def edge(along: float) -> float:
        return float(np.sqrt(max(radius**2 - along**2, 0.0)))

    expected, _ = dblquad(density, -radius, radius, lambda along: -edge(along), edge, epsabs=1e-13, epsrel=1e-9)
    assert foster(case) == pytest.approx(expected / (2 * np.pi * long * short), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("sigma", [1e-1, 1e-2, 1e-3])
@pytest.mark.req("ORB-05")
def test_a_body_of_many_sigmas_is_hit_half_of_the_time_at_its_edge(sigma: float) -> None:
    edge = EncounterPlane((10.0, 0.0), (sigma, sigma), 10.0)
    assert foster(edge) == pytest.approx(0.5 - sigma / 10.0 / np.sqrt(8.0 * np.pi), abs=2e-2 * sigma)


@pytest.mark.parametrize("miss_sigmas", [5.0, 20.0, 35.0])
def test_far_away_it_is_tiny_and_not_nothing(miss_sigmas: float) -> None:
    far = EncounterPlane((0.0, 100.0 * miss_sigmas), (100.0, 100.0), 10.0)
    terms = np.arange(60)
    weights = poisson.logpmf(terms, 0.5 * miss_sigmas**2)
    expected = np.sum(np.exp(weights) * gammainc(terms + 1.0, 0.5 * (10.0 / 100.0) ** 2))
    assert foster(far) == pytest.approx(expected, rel=1e-9, abs=0.0)


@settings(deadline=None, max_examples=30)
@given(planes, st.floats(0.02, 5.0))
@example(EncounterPlane((8.0, 0.25), (1.0, 1.0), 8.0), 0.25)
@example(EncounterPlane((8.0, 0.25), (1.0, 1.0), 8.0), 0.002)
@pytest.mark.req("ORB-05")
def test_no_size_of_the_covariance_gives_more_than_the_maximum(case: EncounterPlane, factor: float) -> None:
    assert foster(case.scaled(factor)) <= maximum(case).probability * (1.0 + 1e-6)


@pytest.mark.req("ORB-05")
def test_the_maximum_for_a_small_body_is_the_one_of_the_formula() -> None:
    found = maximum_without_covariance(miss_m=1000.0, radius_m=1.0, aspect=3.0)
    assert found.probability == pytest.approx(3.0 / np.e * (1.0 / 1000.0) ** 2, rel=1e-4)
    assert found.scale == pytest.approx(1000.0 / 3.0 / np.sqrt(2.0), rel=1e-3)


def test_dilution_is_said() -> None:
    assert maximum(EncounterPlane((100.0, 0.0), (1000.0, 1000.0), 5.0)).diluted
    assert not maximum(EncounterPlane((100.0, 0.0), (10.0, 10.0), 5.0)).diluted
    assert maximum(EncounterPlane((3.0, 0.0), (10.0, 10.0), 5.0)).probability == 1.0


@pytest.mark.req("ORB-07")
def test_a_covariance_that_is_not_positive_definite_is_remedied_and_said_to_be() -> None:
    negative = np.diag([100.0, -50.0, -50.0, 1.0, 1.0, 1.0])
    first = np.array([7e6, 0.0, 0.0, 0.0, 7500.0, 0.0])
    encounter = Encounter(
        first, first + np.array([500.0, 0.0, 0.0, 0.0, -15e3, 10.0]), negative, np.zeros((6, 6)), 10.0
    )
    found = plane_of(encounter)
    assert found.remedied
    assert min(found.sigma_m) == pytest.approx(1e-3)
    assert foster(found) == 0.0
    assert not plane_of(OMITRON).remedied


def test_the_states_are_moved_to_the_closest_approach() -> None:
    late = Encounter(
        OMITRON.first + np.concatenate([0.01 * OMITRON.first[3:], np.zeros(3)]),
        OMITRON.second + np.concatenate([0.01 * OMITRON.second[3:], np.zeros(3)]),
        OMITRON.first_covariance,
        OMITRON.second_covariance,
        20.0,
    )
    assert foster(plane_of(late)) == pytest.approx(foster(plane_of(OMITRON)), rel=1e-9)


def test_an_encounter_comes_from_a_message() -> None:
    message = read_cdm(MESSAGE)
    assert encounter_of(message).hard_body_radius_m == 12.5
    assert encounter_of(message, 3.0).hard_body_radius_m == 3.0


@pytest.mark.parametrize(
    "spoiled",
    [
        MESSAGE.replace("COMMENT HBR = 12.5 [m]\n", ""),
        MESSAGE.replace("REF_FRAME = EME2000", "REF_FRAME = ITRF", 1),
        MESSAGE.replace("HBR = 12.5", "HBR = 0"),
    ],
)
def test_an_encounter_without_a_size_or_a_frame_is_refused(spoiled: str) -> None:
    with pytest.raises(InvalidEncounter):
        encounter_of(read_cdm(spoiled))


def test_objects_that_fly_together_have_no_encounter_plane() -> None:
    together = Encounter(
        OMITRON.first, OMITRON.first + np.eye(6)[0], OMITRON.first_covariance, OMITRON.second_covariance, 1.0
    )
    with pytest.raises(InvalidEncounter):
        plane_of(together)
