"""The curved probability against NASA's value, against drawing orbits, and where the planar one may not be used."""

from __future__ import annotations

import numpy as np
import pytest

from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.errors import InvalidEncounter
from meridian.orbit.pc import (
    Encounter,
    Method,
    Span,
    Violation,
    assess,
    curved,
    foster,
    monte_carlo,
    plane_of,
)


def lower(*rows: list[float]) -> np.ndarray:
    matrix = np.zeros((6, 6))
    for at, row in enumerate(rows):
        matrix[at, : at + 1] = row
    return matrix + np.tril(matrix, -1).T


FAST = Encounter(
    first=np.array([
        -9.841950433215101e05, 3.932342044549424e05, 6.991223682230414e06,
        4.883696742000000e03, 5.689086045000000e03, 3.665361590000000e02,
    ]),
    second=np.array([
        -9.839696058965517e05, 3.936845951174244e05, 6.991219291625473e06,
        1.509562687000000e03, 7.372938617000000e03, -1.492509430000000e02,
    ]),
    first_covariance=lower(
        [4.976545641899520e04],
        [5.787130862568278e04, 6.730377643610841e04],
        [3.370410320935015e03, 3.926542932121541e03, 2.461403197221289e02],
        [1.137272273949272e01, 1.321992688238858e01, 7.586865834476763e-01, 2.608186227148725e-03],
        [-4.325472616114674e00, -5.035560720747812e00, -3.077848629905763e-01, -9.804181796720670e-04,
         3.895883508545853e-04],
        [-8.009705480233521e01, -9.314985106902773e01, -5.434034460756914e00, -1.829751672999786e-02,
         6.968892326415779e-03, 1.289253320300791e-01],
    ),
    second_covariance=lower(
        [4.246862551076427e04],
        [2.066374367781032e05, 1.005854717283451e06],
        [-5.011108933888592e03, -2.434876491048039e04, 6.131274993037449e02],
        [3.104606531932427e01, 1.510022508670080e02, -3.667147183233717e00, 2.272826228568773e-02],
        [-1.201093683199582e01, -5.850063541467530e01, 1.391769957262238e00, -8.778253314778023e-03,
         3.428801115804722e-03],
        [-2.207975848324051e02, -1.074752763805685e03, 2.601457791444154e01, -1.613538091053610e-01,
         6.251148178133809e-02, 1.148404222181769e00],
    ),
    hard_body_radius_m=20.0,
)  # fmt: skip
"""The case of NASA's own unit test in which the planar and the curved value agree."""


def slow() -> Encounter:
    """Two objects on nearly the same orbit that pass each other with half a metre per second.

    As after an orbit determination, an error ahead goes with an error of the radial velocity: whoever forgets that
    position and velocity hang together gets another probability.
    """
    radius = 7.2e6
    first = np.array([radius, 0.0, 0.0, 0.0, np.sqrt(EARTH_MU / radius), 0.0])
    second = first + np.array([6.0, -4.0, 8.0, 0.2, -0.4, 0.1])
    covariance = np.diag([9.0, 225.0, 9.0, 1e-2, 1e-6, 1e-2])
    covariance[1, 3] = covariance[3, 1] = -0.9 * 15.0 * 0.1
    return Encounter(first, second, covariance, covariance, 12.0)


@pytest.mark.req("ORB-06")
def test_a_fast_encounter_has_nasas_value() -> None:
    assert curved(FAST).probability == pytest.approx(1.0289973e-02, rel=1e-3)


@pytest.mark.req("ORB-06")
def test_a_fast_encounter_is_planar() -> None:
    found = assess(FAST)
    assert found.violations == frozenset()
    assert found.remedies == frozenset()
    assert found.probability == found.planar == foster(plane_of(FAST))
    assert found.curved is not None
    assert found.curved.probability == pytest.approx(found.planar, rel=2e-3)


@pytest.mark.req("ORB-06")
def test_a_fast_encounter_is_as_likely_as_drawn_orbits_say() -> None:
    sampled = monte_carlo(FAST, Span(-2.0, 2.0), 40_000, np.random.default_rng(7), times=9)
    assert sampled.holds(curved(FAST).probability)
    assert not sampled.holds(2.0 * curved(FAST).probability)


@pytest.mark.req("ORB-06")
def test_a_slow_encounter_is_as_likely_as_drawn_orbits_say_and_not_planar() -> None:
    encounter, span = slow(), Span(-300.0, 300.0)
    sampled = monte_carlo(encounter, span, 20_000, np.random.default_rng(11), times=41)
    assert sampled.holds(curved(encounter, span).probability)
    assert not sampled.holds(foster(plane_of(encounter)))


@pytest.mark.req("ORB-06")
def test_where_the_planar_value_does_not_apply_the_curved_one_is_taken() -> None:
    found = assess(slow())
    assert {Violation.EXTENDED, Violation.INACCURATE} <= found.violations
    assert found.method is Method.CURVED
    assert found.curved is not None
    assert found.probability == found.curved.probability != found.planar


def test_an_object_that_leaves_the_earth_has_no_orbit() -> None:
    leaving = Encounter(
        FAST.first, FAST.second * np.array([1, 1, 1, 2, 2, 2]), FAST.first_covariance, FAST.second_covariance, 20.0
    )
    with pytest.raises(InvalidEncounter, match="not bound"):
        curved(leaving)


def test_equal_seeds_draw_equal_orbits() -> None:
    one, other = (monte_carlo(FAST, Span(-1.0, 1.0), 2_000, np.random.default_rng(3), times=5) for _ in range(2))
    assert one == other
