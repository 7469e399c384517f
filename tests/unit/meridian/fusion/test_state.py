"""What a batch makes known beside alerts: lives of conjunctions, rows of the catalog, objects that were lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
from tests.support.made_up_objects import EPOCH, made_up_objects
from tests.support.straight_sky import StraightSky
from tests.support.watched_sky import SITES, WINDOWS, WatchedSky, off_catalog

from meridian.fusion.correlator import Correlator
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Floats
from meridian.fusion.figures import Figures
from meridian.fusion.foreseen import Foreseen
from meridian.fusion.judging import Astronomer
from meridian.fusion.life import Stage
from meridian.fusion.measurements import Sites
from meridian.fusion.outputs import ALERTS, OBJECTS, OUTPUTS, PROGRESS, ROWS, SUMMARIES, widened
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.rows import Rows
from meridian.fusion.sky import CatalogSky
from meridian.fusion.spark import LATENESS
from meridian.fusion.state import LOST_AFTER, Fusion, News, Seen
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows

TWO = StraightSky(np.array([[-7e6, 0, 0, 7000, 0, 0], [0, -7e6, 400, 0, 7000, 0]], np.float64))
"""Pass each other after 1000 seconds, 400 metres apart."""
PLACES = TWO.states


def fusion(threshold: float = 1000.0) -> Fusion:
    correlator: Correlator[ConjunctionRisk] = Correlator(
        Windows(), Watermarks({"radar": 0}), Evidence.nothing(COLUMNS), Astronomer(TWO, threshold)
    )
    return Fusion(correlator)


def seen(times: Sequence[float], *, off: Floats | None = None, until: float | None = None) -> Seen:
    """Both objects at each time, the second off its place."""
    when = np.repeat(np.array(times), 2)
    objects = np.tile([0, 1], len(times))
    places = PLACES[objects, :3] + when[:, None] * PLACES[objects, 3:]
    if off is not None:
        places[1::2] += off
    heard = {} if until is None else {"radar": Heard(round(until * SECOND))}
    return Seen(TWO.evidence(when, objects, places, 5.0), heard)


def through(state: Fusion, *batches: Seen) -> tuple[Fusion, list[News]]:
    news = []
    for batch in batches:
        state, new = state.after(batch)
        news.append(new)
    return state, news


def stages(news: Sequence[News]) -> list[list[Stage]]:
    return [[each.stage for each in new.conjunctions] for new in news]


def test_a_conjunction_is_raised_at_once_and_expires_when_its_time_has_passed() -> None:
    _, news = through(fusion(), seen([10, 20]), seen([30], until=31), Seen(heard={"radar": Heard(1100 * SECOND)}))
    assert stages(news)[0] == [Stage.RAISED]
    assert stages(news)[2] == [Stage.EXPIRED]


@pytest.mark.req("WMK-05")
def test_windows_are_closed_only_when_the_slowest_source_strictly_advances() -> None:
    marks = Watermarks({"radar": 0, "isl": 0})
    state = replace(fusion(), correlator=replace(fusion().correlator, watermarks=marks))
    told = []
    for heard in (
        {"radar": 500},  # nothing is known of the beacons
        {"isl": 61},
        {"radar": 900},  # the beacons still hold everything up
        {"isl": 61, "radar": 901},
        {"isl": 45},
        {"isl": 91},
    ):
        evidence = seen([10, 20]).evidence if heard == {"radar": 500} else seen([]).evidence
        state, news = state.after(Seen(evidence, {name: Heard(at * SECOND) for name, at in heard.items()}))
        told.append((news.counts.closed, bool(news.summaries), bool(news.words)))
        reached = state.correlator.watermarks.sources
        assert state.correlator.watermarks.all == (min(reached.values()) if len(reached) == 2 else None)
    nothing = ((), False, False)
    assert told[0][0] == ()
    assert told[1][:2] == ((0, 1), True)
    assert told[2:5] == [nothing] * 3
    assert told[5][:2] == ((), False), "its windows are closed, and nothing was seen in the next"


def test_a_conjunction_is_withdrawn_when_a_later_window_sees_both_and_finds_them_apart() -> None:
    far = np.array([0.0, 0.0, 5000.0])
    state, news = through(fusion(), seen([10, 20], until=25), seen([70, 75, 80, 85], off=far, until=200))
    assert stages(news)[0] == [Stage.RAISED]
    assert stages(news)[1] == [Stage.WITHDRAWN]
    assert state.conjunctions.standing() == []


FAR = np.array([0.0, 0.0, 5000.0])
NEAR_FIRST, APART_LATER = seen([10, 20], until=25), seen([70, 75, 80, 85], off=FAR, until=200)
HALF, OTHER_HALF = (APART_LATER.evidence.about(np.array([number])) for number in (0, 1))


@pytest.mark.req("LAT-06")
@pytest.mark.parametrize(
    "batches",
    [
        (NEAR_FIRST, APART_LATER),
        (NEAR_FIRST + APART_LATER,),
        (Seen(APART_LATER.evidence), Seen(NEAR_FIRST.evidence, APART_LATER.heard)),
        (NEAR_FIRST, Seen(HALF, {"radar": Heard(121 * SECOND)}), Seen(OTHER_HALF, {"radar": Heard(122 * SECOND)})),
    ],
    ids=["one after the other", "at once", "the wrong way round", "half of it late"],
)
def test_a_conjunction_that_a_later_window_refutes_does_not_stand_however_it_came(batches: tuple[Seen, ...]) -> None:
    state, _ = through(fusion(), *batches)
    assert state.conjunctions.standing() == []
    assert len(state.conjunctions.known) == 1


def test_a_conjunction_stands_while_nobody_looks() -> None:
    state, news = through(fusion(), seen([10, 20], until=25), Seen(heard={"radar": Heard(300 * SECOND)}))
    assert stages(news)[1] in ([], [Stage.UPDATED])
    assert len(state.conjunctions.standing()) == 1


def test_an_object_that_is_not_seen_for_a_day_is_lost_once() -> None:
    state, _ = through(fusion(), seen([10, 20], until=21))
    day = LOST_AFTER / SECOND
    _, news = through(
        state, *(Seen(heard={"radar": Heard(round(at * SECOND))}) for at in (1000, day, day + 30, day + 60))
    )
    assert [sorted(new.lost.objects.tolist()) for new in news] == [[], [], [0, 1], []]


CATALOG = made_up_objects(8, seed=2)
SKY = WatchedSky.off(CATALOG, off_catalog(CATALOG, seed=5))
SITED = Sites(SITES)
ROWS_OF = Rows(SKY.references, SKY.names, SITED)


def real(seed: int = 1) -> Fusion:
    nothing = np.empty(0, np.int64)
    foreseen = Foreseen.of(SKY.references, nothing, nothing, nothing, np.empty(0))
    judge = Astronomer(CatalogSky(SKY.references, foreseen, SKY.names, WINDOWS, 3600 * SECOND), 5000.0)
    return Fusion(Correlator(WINDOWS, Watermarks(LATENESS), Evidence.nothing(COLUMNS), judge))


@cache
def observed(count: int = 240, seed: int = 3) -> tuple[Seen, ...]:
    """What is seen of all objects for two minutes, in batches."""
    random = np.random.default_rng(seed)
    times = EPOCH + np.sort(random.integers(0, 120 * SECOND, count))
    columns = SKY.seen(times, np.arange(count) % len(CATALOG))
    batches = []
    for rows in np.array_split(np.arange(count), 6):
        chosen = np.isin(np.arange(count), rows)
        newest = Heard(int(times[rows].max()))
        batches.append(Seen(SKY.contributions.evidence(columns.where(chosen)), dict.fromkeys(LATENESS, newest)))
    return tuple(batches)


def catalog_of(state: Fusion, news: Sequence[News]) -> dict[str, dict[str, object]]:
    """What a table with one row an object holds in the end."""
    rows: dict[str, dict[str, object]] = {}
    for number, new in enumerate(news, 1):
        made = ROWS_OF.of(state, new, {}, state_bytes=number)
        for table in (table for output, table in made if output is OBJECTS):
            rows.update({row["object_id"]: row for row in table.to_pylist()})
    return rows


def test_the_catalog_has_one_row_an_object_that_every_observation_has_changed_once() -> None:
    state, news = through(real(), *observed())
    rows = catalog_of(state, news)
    assert sorted(rows) == sorted(SKY.names)
    assert [row["observations"] for row in rows.values()] == [30] * 8
    assert {row["status"] for row in rows.values()} == {"tracked"}
    for row in rows.values():
        kinds = {name.split("-")[0] for name in json.loads(str(row["sources"]))}
        assert kinds == {"radar", "optical", "isl"}, "several sensors are one row"


def test_the_catalog_tells_where_objects_are_and_how_surely() -> None:
    state, news = through(real(), *observed())
    rows = catalog_of(state, news)
    for number, name in enumerate(SKY.names):
        row = rows[name]
        states = SKY.real.states(np.array([number]), np.array([row["epoch_ns"]]))[0]
        told = np.array([row[column] for column in ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s")])
        covariance = np.zeros((6, 6))
        covariance[np.triu_indices(6)] = row["covariance"]
        covariance = covariance + covariance.T - np.diag(np.diag(covariance))
        off = told - states
        assert off @ np.linalg.inv(covariance) @ off < 35, "six numbers, of which one in 200,000 is further off"
        assert np.linalg.norm(off[:3]) < 60


@pytest.mark.req("LAT-06")
def test_the_catalog_does_not_depend_on_the_order_in_which_batches_come() -> None:
    state, news = through(real(), *observed())
    wanted = catalog_of(state, news)
    for seed in range(10):
        marks = [Seen(batch.evidence) for batch in Random(seed).sample(observed(), len(observed()))]
        last = Seen(heard=dict.fromkeys(LATENESS, Heard(EPOCH + 119 * SECOND)))
        other, told = through(real(), *marks, last)
        rows = catalog_of(other, told)
        assert {name: (row["x_m"], row["covariance"]) for name, row in rows.items()} == {
            name: (row["x_m"], row["covariance"]) for name, row in wanted.items()
        }


@pytest.mark.req("LAT-07")
def test_progress_counts_windows_by_tier_and_what_was_taken_back() -> None:
    state, tiers = fusion(), []
    for batch in (
        seen([10, 20], until=21),
        seen([25], off=np.array([0.0, 0.0, 200.0]), until=31),
        seen([70], until=71),
    ):
        state, news = state.after(batch)
        (row,) = next(
            table for output, table in ROWS_OF.of(state, news, {}, state_bytes=9) if output is PROGRESS
        ).to_pylist()
        tiers.append((row["active"], row["retained"]))
    assert tiers == [(2, 0), (1, 1), (2, 0)]
    assert (row["taken"], row["told"], row["retracted"]) == (8, state.totals.told, state.totals.retracted)
    assert state.totals.retracted > 0
    assert (row["state_bytes"], row["batch"]) == (9, 3)


def test_rows_of_all_outputs_fit_into_one_stream_and_keep_their_numbers() -> None:
    received = np.array([1_786_000_000_123_456_789])
    batch = replace(seen([10, 20], until=35), figures={"radar": Figures.of(received - 5, received)})
    state, news = fusion().after(batch)
    made = dict(ROWS_OF.of(state, news, {}, state_bytes=1))
    assert {output.route for output in made} >= {ALERTS.route, SUMMARIES.route, PROGRESS.route}
    for output, table in made.items():
        (wide,) = widened(output, table)
        assert wide.schema == ROWS
        assert wide["route"].to_pylist() == [output.route] * table.num_rows
        assert wide.select(output.columns).to_pylist() == table.to_pylist()
        others = set(ROWS.names) - set(output.columns) - {"route"}
        assert all(wide[name].null_count == wide.num_rows for name in others)
    assert made[PROGRESS]["received_ns"].to_pylist() == [1_786_000_000_123_456_789]
    assert {output.key for output in OUTPUTS} <= set(ROWS.names)
