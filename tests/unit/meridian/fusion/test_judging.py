"""What is found of passages, in a sky of straight lines where the answer is known."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.support.straight_sky import PRIOR, StraightSky, closest

from meridian.fusion.correlator import Correlator
from meridian.fusion.emissions import Meeting
from meridian.fusion.estimates import COLUMNS, Estimates
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.geometry import Geometry, Passages, collisions
from meridian.fusion.judging import Astronomer
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.tracks import Tracks
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows

WINDOWS = Windows()
SIGMA = 5.0
PAIR = Meeting(1, "object-000", "object-001")


def how_far(planes: Floats, spreads: Floats, radii: Floats) -> Floats:
    """In place of a probability: in standard deviations, by the larger spread."""
    far: Floats = np.hypot(planes[:, 0], planes[:, 1]) / np.sqrt(spreads[:, :2].max(axis=1))
    return far


def crossing(count: int, seed: int, speed: float = 7000.0) -> Floats:
    """States at time 0 of objects that all pass near one point between ten and twenty minutes from then."""
    random = np.random.default_rng(seed)
    velocity = random.normal(size=(count, 3))
    velocity *= speed / np.sqrt((velocity**2).sum(axis=1, keepdims=True))
    near = random.normal(size=(count, 3)) * 2000.0
    return np.concatenate([near - velocity * random.uniform(600, 601, size=(count, 1)), velocity], axis=1)


def seen(sky: StraightSky, truth: Floats, times: Floats, objects: Integers, seed: int = 3) -> Evidence:
    noise = np.random.default_rng(seed).normal(size=(len(times), 3)) * SIGMA
    return sky.evidence(times, objects, truth[objects, :3] + times[:, None] * truth[objects, 3:] + noise, SIGMA)


def off(states: Floats, seed: int) -> Floats:
    """Where the objects really are: off what the catalog says."""
    return states + np.random.default_rng(seed).normal(size=states.shape) * np.array([300, 300, 300, 0.3, 0.3, 0.3])


def everywhere(times: int, count: int, until: float = 60.0) -> tuple[Floats, Integers]:
    at = np.sort(np.random.default_rng(8).uniform(0, until, size=times))
    return at, np.arange(times) % count


def test_a_finding_is_where_the_objects_really_pass_not_where_the_catalog_says() -> None:
    sky = StraightSky(crossing(2, seed=1))
    truth = off(sky.states, seed=2)
    found = Astronomer(sky, 1e5, how_far).findings(1, seen(sky, truth, *everywhere(4000, 2)))
    relative = (truth[1] - truth[0])[None]
    when = closest(relative)[0]
    place = relative[0, :3] + when * relative[0, 3:]
    risk = found[PAIR]
    assert risk.closest == pytest.approx(when * SECOND, abs=0.01 * SECOND)
    assert risk.speed == pytest.approx(np.linalg.norm(relative[0, 3:]), rel=1e-4)
    assert abs(risk.miss - np.linalg.norm(place)) < 4 * np.sqrt(max(risk.spread[:2]))
    assert np.sqrt(max(risk.spread[:2])) < 0.2 * abs(np.linalg.norm(place) - np.linalg.norm(by_catalog(sky)))


def by_catalog(sky: StraightSky) -> Floats:
    relative = (sky.states[1] - sky.states[0])[None]
    place: Floats = relative[0, :3] + closest(relative)[0] * relative[0, 3:]
    return place


def test_misses_are_as_far_off_as_the_spread_says() -> None:
    distances = []
    for seed in range(300):
        sky = StraightSky(crossing(2, seed=seed))
        truth = sky.states + np.random.default_rng(seed + 1000).multivariate_normal(np.zeros(6), PRIOR, 2)
        evidence = seen(sky, truth, *everywhere(20, 2), seed=seed + 2000)
        risk = Astronomer(sky, 1e9, how_far).findings(1, evidence)[PAIR]
        relative = (truth[1] - truth[0])[None]
        real = relative[0, :3] + closest(relative)[0] * relative[0, 3:]
        distances.append((np.linalg.norm(real) - risk.miss) / np.sqrt(risk.spread[0]))
    assert abs(np.mean(distances)) < 0.25
    assert 0.85 < np.std(distances) < 1.15


@pytest.mark.req("COR-02")
def test_only_pairs_closer_than_the_threshold_are_told_of() -> None:
    sky = StraightSky(crossing(6, seed=5))
    evidence = seen(sky, off(sky.states, seed=6), *everywhere(600, 6))
    every = Astronomer(sky, 1e9, how_far).findings(1, evidence)
    border = float(np.median([risk.miss for risk in every.values()]))
    near = Astronomer(sky, border, how_far).findings(1, evidence)
    assert len(every) == 15
    assert near == {meeting: risk for meeting, risk in every.items() if risk.miss < border}
    assert 0 < len(near) < 15


def test_only_objects_observed_in_the_window_are_judged_in_it() -> None:
    sky = StraightSky(crossing(3, seed=5))
    evidence = seen(sky, sky.states, np.array([1.0, 35.0, 40.0]), np.array([2, 0, 1]))
    found = Astronomer(sky, 1e9, how_far).findings(2, evidence)
    assert set(found) == {Meeting(2, "object-000", "object-001")}


@pytest.mark.parametrize("speed", [0.0, 1e-9])
def test_objects_that_fly_abreast_are_as_far_apart_as_they_are(speed: float) -> None:
    still = np.zeros((1, 6, 6))
    states = np.array([[3000.0, 4000.0, 0.0, speed, 0.0, 0.0]])
    one = np.zeros(1, np.int64)
    passages = Passages(one, one + 1, one, states, still, still, still, np.ones(1))
    nothing = Estimates(np.zeros((1, 6)), np.eye(6)[None])
    geometry = Geometry.of(passages, nothing, nothing)
    assert geometry.miss == pytest.approx([5000])
    assert abs(geometry.offset) <= 60 * SECOND
    (plane,), _ = geometry.in_plane(one)
    assert np.hypot(*plane) == pytest.approx(5000)


def test_the_probability_is_that_of_a_draw() -> None:
    plane, spread, radius = (300.0, -200.0), (9e4, 4e4, 2e4), 120.0
    covariance = np.array([[spread[0], spread[2]], [spread[2], spread[1]]])
    drawn = np.random.default_rng(1).multivariate_normal(plane, covariance, 2_000_000)
    share = float((np.hypot(drawn[:, 0], drawn[:, 1]) < radius).mean())
    (found,) = collisions(np.array([plane]), np.array([spread]), np.array([radius]))
    assert found == pytest.approx(share, rel=0.02)


def test_a_probability_does_not_depend_on_those_beside_it() -> None:
    """Which pairs are judged together is chance; what is said of each must not be."""
    random, count = np.random.default_rng(3), 200
    planes, radii = random.normal(0, 300, (count, 2)), random.uniform(1, 200, count)
    wide, narrow, turn = random.uniform(100, 1e4, count), random.uniform(1, 100, count), random.uniform(-1, 1, count)
    spreads = np.stack([wide**2, narrow**2, 0.9 * turn * wide * narrow], axis=1)
    together = collisions(planes, spreads, radii)
    alone = [collisions(*(each[[row]] for each in (planes, spreads, radii)))[0] for row in range(count)]
    assert together.tolist() == alone
    assert len(set(alone)) > 0.9 * count, "some are nothing"


def test_a_passage_through_the_very_middle_has_a_plane() -> None:
    unmoved, one = np.eye(6)[None], np.zeros(1, np.int64)
    passages = Passages(one, one + 1, one, np.eye(6)[3][None] * 7e3, unmoved, unmoved, 0 * unmoved, np.ones(1))
    nothing = Estimates(np.zeros((1, 6)), np.eye(6)[None])
    planes, spreads = Geometry.of(passages, nothing, nothing).in_plane(one)
    assert (planes.tolist(), spreads.tolist()) == ([[0.0, 0.0]], [[2.0, 2.0, 0.0]])


def test_a_track_is_the_same_however_its_slices_were_settled() -> None:
    sky = StraightSky(crossing(4, seed=5))
    evidence = seen(sky, off(sky.states, seed=6), *everywhere(900, 4, until=300))
    at_once = Tracks.none().after(evidence, sky)
    by_slice = Tracks.none()
    for slice_ in range(10):
        by_slice = by_slice.after(evidence.since(slice_).before(slice_ + 1), sky)
    assert at_once.estimates.deviation.tobytes() == by_slice.estimates.deviation.tobytes()
    assert at_once.estimates.covariance.tobytes() == by_slice.estimates.covariance.tobytes()
    assert at_once.counts.tolist() == [225] * 4
    assert at_once.slices.tolist() == [9] * 4


def test_two_sensors_on_one_object_make_one_track() -> None:
    sky = StraightSky(crossing(2, seed=5))
    sharp, dull = np.array([3.0, 4.0]), np.array([5.0, 6.0, 7.0])
    one = sky.evidence(sharp, np.zeros(2, np.int64), sky.states[[0, 0], :3] + sharp[:, None] * sky.states[0, 3:], 1.0)
    other = sky.evidence(dull, np.zeros(3, np.int64), sky.states[[0] * 3, :3] + dull[:, None] * sky.states[0, 3:], 50.0)
    tracks = Tracks.none().after(one + other, sky)
    assert (tracks.objects.tolist(), tracks.counts.tolist(), tracks.newest.tolist()) == ([0], [5], [7 * SECOND])


def through(evidence: list[Evidence], heard: list[float], judge: Astronomer) -> dict[Meeting, ConjunctionRisk]:
    """What is held of all windows at the end."""
    state = Correlator(WINDOWS, Watermarks({"radar": 0}), Evidence.nothing(COLUMNS), judge)
    holds: dict[Meeting, ConjunctionRisk] = {}
    for part, until in zip(evidence, heard, strict=True):
        state, words, counts = state.after(part, {"radar": Heard(int(until * SECOND))})
        assert counts.dropped == 0
        for word in words:
            if word.takes_back:
                del holds[word.meeting]
            else:
                holds[word.meeting] = word.finding
    return holds


@pytest.mark.req("LAT-06")
def test_ten_orders_of_arrival_give_the_same_findings_to_the_last_bit_and_those_of_one_batch() -> None:
    sky = StraightSky(crossing(5, seed=9))
    times, objects = everywhere(400, 5, until=200)
    judge, singles = Astronomer(sky, 3000.0, how_far), []
    whole = seen(sky, off(sky.states, seed=10), times, objects)
    for row in range(len(times)):
        singles.append(seen_alone(sky, times, objects, row))
    answers = []
    for seed in range(10):
        random = Random(seed)
        arrival = sorted(range(len(times)), key=lambda row: times[row] + random.uniform(0, 4.9))
        parts, heard = list[Evidence](), list[float]()
        while arrival:
            size = random.randint(1, 40)
            now, arrival = arrival[:size], arrival[size:]
            parts.append(sum((singles[row] for row in now), Evidence.nothing(COLUMNS)))
            heard.append(min([float(times[now].max()), *(times[row] + 4.9 for row in arrival)]))
        answers.append(through([*parts, Evidence.nothing(COLUMNS)], [*heard, 1e5], judge))
    batch = through([whole, Evidence.nothing(COLUMNS)], [0.0, 1e5], judge)
    assert len(batch) > 20
    assert all(answer == batch for answer in answers)


def seen_alone(sky: StraightSky, times: Floats, objects: Integers, row: int) -> Evidence:
    noise = np.random.default_rng(3).normal(size=(len(times), 3)) * SIGMA
    truth = off(sky.states, seed=10)[objects[row]]
    place = truth[:3] + times[row] * truth[3:] + noise[row]
    alone = sky.evidence(times[[row]], objects[[row]], place[None], SIGMA)
    return replace(alone, digests=np.array([row + 1], np.uint64))
