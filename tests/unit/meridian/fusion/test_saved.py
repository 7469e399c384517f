"""What the correlator knows, saved and restored."""

from __future__ import annotations

import io

import numpy as np
import pytest
from tests.support.straight_sky import StraightSky

from holdfast.model.errors import UnknownFormat
from meridian.fusion.correlator import Correlator
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.judging import Astronomer
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.saved import restored, saved
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows

RANDOM = np.random.default_rng(4)
VELOCITY = RANDOM.normal(size=(6, 3)) * 4000
SKY = StraightSky(np.concatenate([RANDOM.normal(size=(6, 3)) * 900 - VELOCITY * 600, VELOCITY], axis=1))


def fresh() -> Correlator[ConjunctionRisk]:
    judge = Astronomer(SKY, 3000.0)
    return Correlator(Windows(), Watermarks({"radar": 0, "isl": 10 * SECOND}), Evidence.nothing(COLUMNS), judge)


def batches(count: int) -> list[tuple[Evidence, dict[str, Heard]]]:
    made = []
    for number in range(count):
        times, objects = np.sort(RANDOM.uniform(10 * number, 10 * number + 10, 20)), np.arange(20) % 6
        places = SKY.states[objects, :3] + times[:, None] * SKY.states[objects, 3:] + RANDOM.normal(size=(20, 3)) * 30
        heard = {name: Heard(int(times[-1] * SECOND)) for name in ("radar", "isl")}
        made.append((SKY.evidence(times, objects, places, 30.0), heard))
    return made


@pytest.mark.req("CKP-08")
def test_a_restart_after_every_batch_does_not_show_in_what_is_said() -> None:
    running, restarted, said = fresh(), fresh(), 0
    for evidence, heard in batches(24):
        running, words, counts = running.after(evidence, heard)
        restarted, same_words, same_counts = restored(saved(restarted), fresh()).after(evidence, heard)
        assert same_words == words
        assert same_counts == counts
        assert saved(restarted) == saved(running)
        said += len(words)
    assert said > 50


def test_the_state_before_anything_was_seen_can_be_saved() -> None:
    assert saved(restored(saved(fresh()), fresh())) == saved(fresh())


@pytest.mark.parametrize(
    "content", [b"", b"PK", b"not a state", saved(fresh())[:-40]], ids=["none", "zip", "text", "torn"]
)
def test_bytes_that_are_no_state_are_refused(content: bytes) -> None:
    with pytest.raises(UnknownFormat, match="no state"):
        restored(content, fresh())


def test_a_state_of_another_version_is_refused() -> None:
    other = io.BytesIO()
    np.savez(other, version=np.array([2]))
    with pytest.raises(UnknownFormat, match="version"):
        restored(other.getvalue(), fresh())


def test_nothing_that_was_pickled_is_read() -> None:
    hostile = io.BytesIO()
    np.savez(hostile, version=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UnknownFormat):
        restored(hostile.getvalue(), fresh())
