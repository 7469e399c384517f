"""Sinks and whole pipelines that go back: what the preview says is what happens, and nobody else notices."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.support.rollbacks import PASSED, held, pipeline, prepare, run

from holdfast.deliver import GoingBack
from holdfast.runtime.rollback.records import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast import Pipeline
    from holdfast.runtime.rollback.targets import Preview

EFFECTS = {
    "archive": GoingBack.ENDS_EQUAL,
    "tagged": GoingBack.ENDS_EQUAL,
    "plain": GoingBack.REPEATS_ROWS,
    "latest": GoingBack.REFUSES_OLDER,
}
PLACES = ("oldest", "middle", "newest")


@pytest.fixture
def whole(tmp_path: Path) -> Pipeline:
    """A pipeline that has delivered everything and is stopped."""
    prepare(tmp_path)
    whole = pipeline(tmp_path)
    run(whole)
    assert held(tmp_path) == dict.fromkeys(EFFECTS, PASSED)
    return whole


def place(whole: Pipeline, where: str, sink: str | None = None) -> str:
    targets = whole.rollbacks().targets(sink)
    assert len(targets) >= 5, targets
    return str({"oldest": targets[0], "middle": targets[len(targets) // 2], "newest": targets[-1]}[where].oseq)


def expected(sink: str, preview: Preview) -> Counter[int]:
    """What the preview promises of a sink, given that all batches behind the target come again."""
    (told,) = [told for told in preview.sinks if told.sink.name == sink]
    repeated = PASSED[len(PASSED) - (told.rows or 0) :] if told.sink.effect is GoingBack.REPEATS_ROWS else []
    return Counter(PASSED) + Counter(repeated)


@pytest.mark.req("M3")
@pytest.mark.parametrize("where", PLACES)
def test_sinks_that_go_back_hold_what_the_preview_said(tmp_path: Path, whole: Pipeline, where: str) -> None:
    told = {}
    for sink in EFFECTS:
        to = place(whole, where, sink)
        told[sink] = whole.rollbacks().preview(to, sink)
        assert [about.sink.effect for about in told[sink].sinks] == [EFFECTS[sink]]
        done = whole.rollbacks().go_back(to, sink, by="somebody")
        assert (done.outcome, done.to, done.sink, done.by) == (Outcome.DONE, int(to), sink, "somebody")
    run(whole)
    found = held(tmp_path)
    assert {sink: Counter(found[sink]) for sink in EFFECTS} == {sink: expected(sink, told[sink]) for sink in EFFECTS}
    assert found["archive"] == found["tagged"] == found["latest"] == PASSED


def test_a_sink_that_goes_back_concerns_no_other(tmp_path: Path, whole: Pipeline) -> None:
    whole.rollbacks().go_back(place(whole, "middle", "plain"), "plain", by="somebody")
    run(whole)
    found = held(tmp_path)
    assert len(found.pop("plain")) > len(PASSED)
    assert found == dict.fromkeys(("archive", "tagged", "latest"), PASSED)


@pytest.mark.req("M3")
@pytest.mark.parametrize("where", PLACES)
def test_a_pipeline_that_goes_back_ends_equal_where_the_preview_said_so(
    tmp_path: Path, whole: Pipeline, where: str
) -> None:
    to = place(whole, where)
    preview = whole.rollbacks().preview(to)
    assert {told.sink.name: told.sink.effect for told in preview.sinks} == EFFECTS
    whole.rollbacks().go_back(to, by="somebody")
    run(whole)
    found = held(tmp_path)
    assert {sink: Counter(numbers) for sink, numbers in found.items()} == {
        sink: expected(sink, preview) for sink in EFFECTS
    }
    assert found["archive"] == found["tagged"] == PASSED
