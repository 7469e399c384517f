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
from meridian.fusion.figures import Figures
from meridian.fusion.judging import Astronomer
from meridian.fusion.risk import ConjunctionRisk
from meridian.fusion.saved import packed, restored, saved, unpacked
from meridian.fusion.state import Fusion, Seen
from meridian.fusion.watermarks import Heard, Watermarks
from meridian.fusion.windows import SECOND, Windows

RANDOM = np.random.default_rng(4)
FIGURES = Figures.of(np.arange(7) * SECOND, np.arange(7) * SECOND + 5)
VELOCITY = RANDOM.normal(size=(6, 3)) * 4000
SKY = StraightSky(np.concatenate([RANDOM.normal(size=(6, 3)) * 900 - VELOCITY * 600, VELOCITY], axis=1))


def fresh() -> Fusion:
    judge, marks = Astronomer(SKY, 3000.0), Watermarks({"radar": 0, "isl": 10 * SECOND})
    correlator: Correlator[ConjunctionRisk] = Correlator(Windows(), marks, Evidence.nothing(COLUMNS), judge)
    return Fusion(correlator)


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
    running, restarted, said, lives = fresh(), fresh(), 0, 0
    for evidence, heard in batches(24):
        seen = Seen(evidence, heard, {"radar": FIGURES})
        running, news = running.after(seen)
        restarted, same = restored(saved(restarted), fresh()).after(unpacked(packed(seen)))
        assert same.words == news.words
        assert same.counts == news.counts
        assert same.conjunctions == news.conjunctions
        assert same.summaries == news.summaries
        assert saved(restarted) == saved(running)
        said += len(news.words)
        lives += len(news.conjunctions)
    assert said > 50
    assert lives > 10
    assert running.figures["radar"].observations == 24 * 7


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
    np.savez(other, version=np.array([1]))
    with pytest.raises(UnknownFormat, match="version"):
        restored(other.getvalue(), fresh())


def test_nothing_that_was_pickled_is_read() -> None:
    hostile = io.BytesIO()
    np.savez(hostile, version=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UnknownFormat):
        restored(hostile.getvalue(), fresh())


def test_a_state_packed_in_a_way_that_is_not_known_is_refused() -> None:
    """A damaged version of the ZIP format raised `NotImplementedError`."""
    content = packed(Seen(Evidence.nothing(COLUMNS), {}, {}))
    at = content.index(b"PK\x01\x02") + 6
    with pytest.raises(UnknownFormat, match="no state of the correlator"):
        unpacked(content[:at] + b"\xff" + content[at + 1 :])
