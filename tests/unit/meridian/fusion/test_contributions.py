"""Real observations of real orbits become tracks that are as good as they say."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.support.made_up_objects import EPOCH, made_up_objects
from tests.support.watched_sky import WINDOWS, AsUnsure, WatchedSky, off_catalog

from meridian.fusion.exact import Floats
from meridian.fusion.tracks import Tracks
from meridian.fusion.windows import SECOND

CATALOG = made_up_objects(60)
SKY = WatchedSky.off(CATALOG, off_catalog(CATALOG, seed=3))
UNSURE = WatchedSky(SKY.references, SKY.names, AsUnsure(SKY.references, EPOCH // WINDOWS.size, seed=4))
RANDOM = np.random.default_rng(9)


def tracked(sky: WatchedSky, each: int, seconds: int, only: str | None = None) -> tuple[Floats, Floats]:
    """Errors of the tracks of all objects after so many observations of each, and their covariances."""
    count = len(sky.names)
    objects = RANDOM.permutation(np.tile(np.arange(count), each))
    times = EPOCH + RANDOM.integers(0, seconds * SECOND, len(objects))
    seen = sky.seen(times, objects, only=only)
    assert sky.contributions.known(seen).all()
    tracks = Tracks.none().after(sky.contributions.evidence(seen), sky.references)
    last = int(tracks.slices.max())
    known = tracks.at(np.arange(count), last, sky.references)
    slices = np.full(count, last)
    real = sky.real.at_end(np.arange(count), slices) - sky.references.at_end(np.arange(count), slices)
    return known.deviation - real, known.covariance


def squared(error: Floats, covariance: Floats) -> Floats:
    """Errors in standard deviations, squared: of a mean of six when both belong together."""
    found: Floats = (error[:, None, :] @ np.linalg.inv(covariance) @ error[:, :, None])[:, 0, 0]
    return found


@pytest.mark.parametrize("only", [None, "radar", "optical", "isl"])
@pytest.mark.parametrize("seconds", [25, 240])
def test_tracks_are_as_good_as_they_say(only: str | None, seconds: int) -> None:
    spread = np.sqrt(12 / len(CATALOG))
    assert abs(squared(*tracked(UNSURE, 12, seconds, only)).mean() - 6) < 4 * spread


@pytest.mark.parametrize("only", [None, "radar", "optical", "isl"])
def test_tracks_of_objects_that_move_by_other_elements_are_at_least_as_good_as_they_say(only: str | None) -> None:
    assert squared(*tracked(SKY, 12, 240, only)).mean() < 6 + 4 * np.sqrt(12 / len(CATALOG))


def test_tracks_are_better_than_the_catalog() -> None:
    error, covariance = tracked(SKY, 30, 120)
    assert np.median(np.linalg.norm(error[:, :3], axis=1)) < 10
    assert np.median(np.sqrt(np.trace(covariance[:, :3, :3], axis1=1, axis2=2))) < 12


def test_observations_of_what_is_not_known_are_told_apart() -> None:
    seen = SKY.seen(EPOCH + np.arange(6) * SECOND, np.arange(6), only="radar")
    names = seen.object_ids.to_pylist()
    sensors = seen.source_ids.to_pylist()
    strange = type(seen)(
        seen.records,
        pa.array([sensors[0], "radar-99", *sensors[2:]]),
        pa.array([*names[:3], "12", None, names[5]], pa.string()),
    )
    assert SKY.contributions.known(strange).tolist() == [True, False, True, False, False, True]


@pytest.mark.req("LAT-06")
def test_parts_say_what_the_whole_says() -> None:
    times = EPOCH + RANDOM.integers(0, 100 * SECOND, 300)
    seen = SKY.seen(times, np.arange(300) % 60)
    chosen = RANDOM.random(300) < 0.3
    whole = SKY.contributions.evidence(seen)
    parts = SKY.contributions.evidence(seen.where(~chosen)) + SKY.contributions.evidence(seen.where(chosen))
    assert whole.sums.whole.tobytes() == parts.sums.whole.tobytes()
    assert whole.sums.part.tobytes() == parts.sums.part.tobytes()
    assert whole.digests.tolist() == parts.digests.tolist()
    assert WINDOWS.slices(times).min() == whole.slices[0]
