"""The two encounters of the demonstration: what fusion makes of them while simulated radars watch the debris."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.demonstrated import SECOND, played

from meridian.fusion.life import Conjunction, Stage
from meridian.hosting.demonstration import ENCOUNTERS, OURS, prepare
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.orbit.propagation import Propagator

START = 1_795_000_000 * SECOND
FIRST = 90_000
MINUTES = 5
WORTH_ACTING = 1e-4
Told = list[tuple[float, Conjunction]]


def home_at(directory: Path, now_ns: int) -> Home:
    made = Home(directory / str(now_ns))
    prepare(made, now_ns=now_ns)
    return made


def pair(number: int) -> tuple[str, str]:
    return str(FIRST + number), str(FIRST + OURS + number)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What fusion says of the first two pairs in the first minutes after a start ten seconds later."""
    home = home_at(tmp_path_factory.mktemp("demonstration"), START)
    objects = frozenset(int(name) for number in range(2) for name in pair(number))
    started = START + 10 * SECOND
    return list(played(home, started, seconds=MINUTES * 60, objects=objects))


def of_pair(told: Told, number: int) -> Told:
    return [(at, each) for at, each in told if (each.passage.a, each.passage.b) == pair(number)]


def test_the_first_pair_is_told_as_improbable_and_rises_above_one_in_ten_thousand(told: Told) -> None:
    first = of_pair(told, 0)
    assert first[0][1].stage is Stage.RAISED
    assert first[0][1].risk.probability < WORTH_ACTING / 2
    risen = [at for at, each in first if each.risk.probability > WORTH_ACTING]
    assert min(risen) < 240
    last = first[-1][1]
    assert not last.stage.is_over
    assert last.risk.probability > 3 * WORTH_ACTING
    assert last.risk.miss < first[0][1].risk.miss / 2


def test_the_second_pair_is_told_as_worth_a_look_and_is_withdrawn(told: Told) -> None:
    second = of_pair(told, 1)
    assert second[0][1].stage is Stage.RAISED
    assert 1e-6 < max(each.risk.probability for _, each in second) < WORTH_ACTING
    withdrawn = [at for at, each in second if each.stage is Stage.WITHDRAWN]
    assert second[0][0] + 60 < min(withdrawn) < MINUTES * 60
    assert second[-1][1].stage is Stage.WITHDRAWN


@pytest.mark.parametrize("day", [0, 91, 183, 274.4])
def test_the_orbits_meet_as_arranged_whenever_the_demonstration_begins(tmp_path: Path, day: float) -> None:
    now = START + round(day * 86_400) * SECOND
    home = home_at(tmp_path, now)
    by_truth, by_catalog = ([closest(path, number, now) for number in range(2)] for path in (home.truth, home.catalog))
    assert by_truth[0] == pytest.approx(ENCOUNTERS[0].miss_m, abs=1)
    assert by_catalog[1] == pytest.approx(ENCOUNTERS[1].miss_m, abs=1)
    assert 1_000 < by_catalog[0] < 5_000
    assert 6_000 < by_truth[1] < 20_000


def closest(path: Path, number: int, now_ns: int) -> float:
    """How near the elements in a file bring a pair within half a minute of the arranged time, in metres."""
    found = {each.object_id: each for each in read_elements(path)}
    times = now_ns + round(ENCOUNTERS[number].closest_s * SECOND) + np.arange(-30_000, 30_001) * (SECOND // 1000)
    ours, debris = Propagator([found[name] for name in pair(number)]).states(times).position_m
    return float(np.linalg.norm(debris - ours, axis=1).min())
