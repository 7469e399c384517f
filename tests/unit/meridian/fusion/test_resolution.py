"""Points of light get the name of the object that the catalog has there, and no name when two could be meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.support.made_up_objects import EPOCH, made_up_objects
from tests.support.watched_sky import SITES, WatchedSky, off_catalog

from meridian.fusion.contributions import Contributions
from meridian.fusion.exact import Integers
from meridian.fusion.resolution import NOBODY, Resolution
from meridian.fusion.windows import SECOND
from meridian.orbit.sites import look
from meridian.sensors import ObservationColumns

CATALOG = made_up_objects(400, seed=8)
SKY = WatchedSky.off(CATALOG, off_catalog(CATALOG, seed=2))
RESOLVING = replace(SKY.contributions, resolution=Resolution(SKY.references))
TIMES = EPOCH + np.arange(0, 600, 7) * SECOND + 123_456_789


def above(times: Integers, sensor: str) -> tuple[Integers, Integers]:
    """Each time with the objects that stand high above a site then."""
    everything = np.arange(len(CATALOG))
    found = []
    for time in times.tolist():
        states = SKY.real.states(everything, np.full(len(everything), time))
        seen = look(SITES[sensor], states[:, None, :3], states[:, None, 3:], np.array([time]))
        found += [(time, number) for number in np.flatnonzero(seen.elevation_rad[:, 0] > 0.3).tolist()]
    when, who = np.array(found, np.int64).T
    return when, who


def nameless(times: Integers, objects: Integers, sensor: str) -> ObservationColumns:
    """Directions as one telescope sees them, without names."""
    seen = [SKY.seen(times[row : row + 1], objects[row : row + 1], only="optical") for row in range(len(times))]
    assert {each.source_ids[0].as_py() for each in seen} == {sensor}
    return ObservationColumns(
        np.concatenate([each.records for each in seen]),
        pa.array([sensor] * len(times)),
        pa.nulls(len(times), pa.string()),
    )


TIME, WHO = above(TIMES, "optical-0")
SEEN = nameless(TIME, WHO, "optical-0")


def names(contributions: Contributions, seen: ObservationColumns) -> Integers:
    return contributions.numbers(seen)


def test_directions_get_the_name_of_what_is_there() -> None:
    found = names(RESOLVING, SEEN)
    assert len(WHO) > 300
    assert (found == WHO).mean() > 0.97
    assert set(found[found != WHO].tolist()) <= {NOBODY}, "nothing is ever called by a wrong name"


def test_a_direction_where_nothing_is_has_no_name() -> None:
    elsewhere = SEEN.records.copy()
    elsewhere["values"][:, 1] -= 0.03
    moved = ObservationColumns(elsewhere, SEEN.source_ids, SEEN.object_ids)
    assert (names(RESOLVING, moved) == WHO).sum() == 0
    assert (names(RESOLVING, moved) == NOBODY).mean() > 0.97


def test_of_two_that_could_be_meant_neither_is_chosen() -> None:
    twins = [*CATALOG[:20], *(replace(each, norad=99_000 + row) for row, each in enumerate(CATALOG[:20]))]
    sky = WatchedSky.off(twins, off_catalog(twins, seed=2))
    resolving = replace(sky.contributions, resolution=Resolution(sky.references))
    of_them = WHO < 20
    assert of_them.any()
    assert set(resolving.numbers(SEEN.where(of_them)).tolist()) == {NOBODY}


def test_a_name_does_not_depend_on_what_else_is_seen() -> None:
    order = np.random.default_rng(1).permutation(len(WHO))
    shuffled = ObservationColumns(SEEN.records[order], SEEN.source_ids, SEEN.object_ids)
    assert (names(RESOLVING, shuffled) == names(RESOLVING, SEEN)[order]).all()
    alone = [names(RESOLVING, SEEN.where(np.arange(len(WHO)) == row))[0] for row in range(0, len(WHO), 40)]
    assert alone == names(RESOLVING, SEEN)[::40].tolist()


@pytest.mark.parametrize("sensor", ["optical-9", "radar-0"])
def test_what_an_unknown_telescope_sees_has_no_name(sensor: str) -> None:
    strange = ObservationColumns(SEEN.records[:5], pa.array([sensor] * 5), SEEN.object_ids[:5])
    known = RESOLVING.known(strange)
    assert not known.any() or sensor in SITES


def test_evidence_of_resolved_directions_is_that_of_named_ones() -> None:
    found = names(RESOLVING, SEEN)
    resolved = SEEN.where(found != NOBODY)
    named = ObservationColumns(
        resolved.records, resolved.source_ids, pa.array([SKY.names[number] for number in found[found != NOBODY]])
    )
    one, other = RESOLVING.evidence(resolved), SKY.contributions.evidence(named)
    assert one.sums.whole.tobytes() == other.sums.whole.tobytes()
    assert one.objects.tolist() == other.objects.tolist()
