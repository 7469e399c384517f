"""Screening of a made-up catalog against brute force, some against all, on any number of processes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.brute_force import brute_force

from meridian.orbit.elements import Elements
from meridian.orbit.errors import InvalidScreening
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening import Approach, Progress, Screening, screen
from meridian.orbit.screening.filters import within_reach

START_NS = 1_787_270_400_000_000_000
MINUTE_NS = 60_000_000_000


def made_up(norad: int, random: np.random.Generator, altitude_km: float, eccentricity: float = 0.0005) -> Elements:
    motion = 86_400.0 / (2 * np.pi) * np.sqrt(398_600.4418 / ((6_378.137 + altitude_km) / (1 - eccentricity)) ** 3)
    angles = random.uniform(0.0, 360.0, 3)
    return Elements(
        norad=norad,
        designator=None,
        name=f"made up {norad}",
        epoch_ns=START_NS,
        inclination_deg=float(random.uniform(30.0, 100.0)),
        raan_deg=float(angles[0]),
        eccentricity=eccentricity,
        argument_of_perigee_deg=float(angles[1]),
        mean_anomaly_deg=float(angles[2]),
        mean_motion_rev_day=float(motion),
        bstar=1e-5,
    )


def catalog() -> list[Elements]:
    """A crowded shell, objects that dive through it, some far above, and two that fly around each other."""
    random = np.random.default_rng(42)
    shell = [made_up(number, random, 550.0 + random.uniform(-3, 3)) for number in range(150)]
    divers = [made_up(1000 + number, random, 545.0, 0.6) for number in range(15)]
    above = [made_up(2000 + number, random, 20_000.0) for number in range(10)]
    leader = made_up(3000, random, 800.0)
    return [*shell, *divers, *above, leader, replace(leader, norad=3001, eccentricity=0.0021)]


CATALOG = catalog()
SCREENING = Screening(START_NS, START_NS + 180 * MINUTE_NS, 50_000.0, processes=1)


@pytest.fixture(scope="module")
def found() -> list[Approach]:
    return screen(CATALOG, SCREENING)


@pytest.mark.req("ORB-08")
def test_everything_that_brute_force_finds_is_found(found: list[Approach]) -> None:
    expected = brute_force(Propagator(CATALOG), SCREENING.start_ns, SCREENING.end_ns, SCREENING.threshold_m)
    assert len(expected) > 100
    ours = {(each.first, each.second, round(each.tca_ns / MINUTE_NS)): each for each in found}
    assert (175, 176) in {(first, second) for first, second, _ in expected}
    assert expected.keys() == ours.keys()
    for key, (tca, miss) in expected.items():
        assert ours[key].tca_ns == pytest.approx(tca, abs=10_000_000)
        assert ours[key].miss_m == pytest.approx(miss, abs=5.0)


@pytest.mark.parametrize("steps", [(5.0, 60.0), (30.0, 120.0), (60.0, 60.0)])
@pytest.mark.req("ORB-08")
def test_the_steps_do_not_change_what_is_found(found: list[Approach], steps: tuple[float, float]) -> None:
    again = screen(CATALOG, Screening(SCREENING.start_ns, SCREENING.end_ns, SCREENING.threshold_m, *steps, processes=1))
    assert [(each.first, each.second) for each in again] == [(each.first, each.second) for each in found]
    assert [each.miss_m for each in again] == pytest.approx([each.miss_m for each in found], abs=0.1)


@pytest.mark.req("ORB-08")
def test_some_against_all_are_all_of_theirs(found: list[Approach]) -> None:
    primaries = [3, 77, 151, 170]
    theirs = [each for each in found if each.first in primaries or each.second in primaries]
    assert len(theirs) > 2
    assert screen(CATALOG, SCREENING, primaries) == theirs


def test_two_processes_find_the_same(found: list[Approach]) -> None:
    short = Screening(START_NS, START_NS + 30 * MINUTE_NS, 50_000.0, processes=2)
    assert screen(CATALOG, short) == [each for each in found if each.tca_ns <= short.end_ns]


def test_progress_is_reported_to_its_end() -> None:
    told: list[Progress] = []
    result = screen(CATALOG, SCREENING, report=told.append)
    assert [each.done for each in told] == list(range(1, told[-1].parts + 1))
    assert told[-1].found >= len(result)


def test_objects_whose_heights_never_meet_are_left_out() -> None:
    kept = within_reach(CATALOG, range(150), 5_000.0)
    assert set(range(165)) <= set(kept.tolist())
    assert not set(range(165, 175)) & set(kept.tolist())
    assert 165 in within_reach(CATALOG, [165], 5_000.0)


def test_an_object_that_decays_is_passed_over() -> None:
    random = np.random.default_rng(1)
    decaying = made_up(9, random, 120.0)
    assert screen([*CATALOG[:20], decaying], SCREENING) == screen(CATALOG[:20], SCREENING)


@pytest.mark.parametrize(
    "wrong",
    [
        {"end_ns": START_NS},
        {"threshold_m": 0.0},
        {"processes": 0},
        {"step_s": 0.0},
        {"step_s": 200.0},
    ],
)
def test_a_screening_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    asked: dict[str, float] = {"start_ns": START_NS, "end_ns": START_NS + 1, "threshold_m": 1.0}
    with pytest.raises(InvalidScreening):
        Screening(**(asked | wrong))  # type: ignore[arg-type]
