"""Sinks and whole pipelines that go back: what the preview says is what happens, and nobody else notices."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.engine_pipelines import Piecemeal, finish, wait_until
from tests.support.local_pipelines import running
from tests.support.rollbacks import EVENTS, PASSED, held, pipeline, prepare, run

from holdfast import Accept, BatchLimits, Quotas, Until
from holdfast.checkpoint import CURSORS, SqliteStore
from holdfast.control.files import set_pause
from holdfast.deliver import GoingBack
from holdfast.log import InboxReader, Keep, inbox_control
from holdfast.log.values import Retained
from holdfast.model.clock import utc_now
from holdfast.model.errors import LifecycleRefused, LogError, PipelineBusy, RollbackRefused
from holdfast.runtime.records import Pause
from holdfast.runtime.rollback.points import PointsKept
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


def test_a_pipeline_that_went_back_goes_back_again(tmp_path: Path, whole: Pipeline) -> None:
    for where in ("middle", "oldest", "middle"):
        whole.rollbacks().go_back(place(whole, where), by="somebody")
        run(whole)
    opened = [known.generations.opened for known in whole.rollbacks().history() if known.generations]
    assert opened == [2, 3, 4]
    assert {path.name for path in (tmp_path / "pipeline" / "spark").iterdir()} == {"3", "4"}
    found = held(tmp_path)
    assert found["archive"] == found["tagged"] == PASSED


def test_a_generation_that_began_in_the_middle_goes_back_to_its_beginning(tmp_path: Path) -> None:
    prepare(tmp_path)
    run(pipeline(tmp_path, events=EVENTS // 2))
    shutil.rmtree(tmp_path / "pipeline" / "spark" / "1")
    whole = pipeline(tmp_path)
    with running(whole, accept=Accept.NEW_GENERATION):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=60)
        whole.drain()
    whole.rollbacks().go_back("oldest", by="somebody")
    run(whole)
    found = held(tmp_path)
    assert found["archive"] == found["tagged"] == PASSED


def test_batches_that_are_computed_again_are_those_of_the_steps_of_now(tmp_path: Path, whole: Pipeline) -> None:
    """What a rollback is for: a step was wrong, is mended, and what it gave is given anew."""
    to = place(whole, "middle")
    kept = whole.rollbacks().preview(to).sinks[0].rows
    whole.rollbacks().go_back(to, by="somebody")
    run(whole, transform=lambda events: orders(events).slice(0, 0))
    found = held(tmp_path)
    assert kept is not None
    assert found["archive"] == found["tagged"] == PASSED[: len(PASSED) - kept]


def test_a_running_pipeline_is_not_taken_back(tmp_path: Path) -> None:
    prepare(tmp_path)
    whole, beside = pipeline(tmp_path), pipeline(tmp_path).rollbacks()
    with running(whole):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=60)
        assert beside.preview("oldest").events > 0, "looking is for everybody"
        with pytest.raises(PipelineBusy, match="cannot go back") as refused:
            beside.go_back("oldest", by="somebody")
        with pytest.raises(LifecycleRefused):
            whole.rollbacks()
        whole.drain()
    assert "holdfast drain" in refused.value.remedy
    assert whole.rollbacks().history() == ()


class TestTakenBack:
    """A rollback of which nothing came."""

    def test_of_the_pipeline(self, tmp_path: Path, whole: Pipeline) -> None:
        whole.rollbacks().go_back(place(whole, "middle"), by="somebody")
        assert len(held(tmp_path)["tagged"]) < len(PASSED)
        undone = whole.rollbacks().undo(by="another")
        with SqliteStore(tmp_path / "pipeline" / "checkpoints.db") as store:
            cursors = store.get(CURSORS)
        assert cursors is not None
        assert cursors.delivered["plain"] == cursors.delivered["latest"] == undone.newest, "they lost nothing"
        assert cursors.delivered["archive"] < undone.newest
        assert [(known.undoes, known.outcome) for known in whole.rollbacks().history()] == [
            (None, Outcome.DONE),
            (1, Outcome.DONE),
        ]
        run(whole, transform=lambda _: pytest.fail("nothing is computed again"))
        assert held(tmp_path) == dict.fromkeys(EFFECTS, PASSED)
        assert undone.by == "another"

    def test_of_a_sink_that_kept_its_rows(self, tmp_path: Path, whole: Pipeline) -> None:
        whole.rollbacks().go_back("oldest", "plain", by="somebody")
        whole.rollbacks().undo(by="somebody")
        run(whole)
        assert held(tmp_path) == dict.fromkeys(EFFECTS, PASSED)

    def test_not_once_batches_were_published(self, whole: Pipeline) -> None:
        whole.rollbacks().go_back(place(whole, "middle"), by="somebody")
        run(whole)
        with pytest.raises(RollbackRefused, match="since"):
            whole.rollbacks().undo(by="somebody")


def test_a_rollback_that_cannot_be_made_ready_changes_nothing(tmp_path: Path, whole: Pipeline) -> None:
    (tmp_path / "pipeline" / "spark" / "2").write_text("in the way")
    with pytest.raises(LogError):
        whole.rollbacks().go_back("oldest", by="somebody")
    assert [known.outcome for known in whole.rollbacks().history()] == [Outcome.GIVEN_UP]
    (tmp_path / "pipeline" / "spark" / "2").unlink()
    run(whole)
    assert held(tmp_path) == dict.fromkeys(EFFECTS, PASSED)


def test_the_inbox_holds_what_a_pipeline_that_went_back_reads_again(tmp_path: Path) -> None:
    """Room is short, so the inbox forgets everything that Spark is said to be done with, before Spark reads on."""
    prepare(tmp_path)
    directory = tmp_path / "pipeline"
    kept = pipeline(tmp_path, chunk=11, kind=Piecemeal).keep(Keep(age=timedelta(days=1)))
    run(kept)
    run(kept.quotas(Quotas(inbox=retained(directory).nbytes)))
    first, done = retained(directory).first_seq, retained(directory).held_by["spark"]
    targets = [target for target in kept.rollbacks().targets() if target.batch is not None]
    target = targets[len(targets) // 2]
    assert target.batch is not None
    assert 1 < first < sum(target.batch.ends.values()) < done == EVENTS, "there is something to hold, and to forget"
    kept.rollbacks().go_back(str(target.oseq), by="somebody")
    set_pause(directory, Pause(utc_now()))
    whole = pipeline(tmp_path, chunk=11, kind=Piecemeal).quotas(Quotas(inbox=1))
    with running(whole):
        wait_until(lambda: retained(directory).first_seq > first, "the inbox has forgotten what it may")
        whole.resume()
        finish(whole)
    found = held(tmp_path)
    assert found["archive"] == found["tagged"] == found["latest"] == PASSED


def retained(directory: Path) -> Retained:
    """What the inbox of the orders still has, and who holds it."""
    with InboxReader.open(directory / "inbox" / "orders") as reader, reader._index.reading() as db:
        return inbox_control.retained(db)


class TestPoints:
    """Copies of Spark's checkpoint reach further back than Spark does."""

    def test_a_point_is_gone_back_to_when_spark_has_forgotten_the_batch(self, tmp_path: Path) -> None:
        prepare(tmp_path)
        whole = pipeline(tmp_path).points(PointsKept(every=timedelta(0)))
        run(whole)
        oldest = whole.rollbacks().targets()[0]
        forget_all_but_the_newest(tmp_path / "pipeline" / "spark" / "1")
        points = [target for target in whole.rollbacks().targets() if target.place == f"points/{target.oseq}"]
        assert points, "there is nothing else to go back to"
        preview = whole.rollbacks().preview(str(points[0].oseq))
        whole.rollbacks().go_back(str(points[0].oseq), by="somebody")
        run(whole)
        found = held(tmp_path)
        assert found["archive"] == found["tagged"] == PASSED
        assert Counter(found["plain"]) == expected("plain", preview)
        assert oldest.oseq <= points[0].oseq

    def test_they_are_made_on_a_cadence_and_go_when_they_are_old(self, tmp_path: Path) -> None:
        prepare(tmp_path)
        whole = pipeline(tmp_path)
        run(whole)
        made = sorted(path.name for path in (tmp_path / "pipeline" / "points").iterdir())
        assert len(made) == 1, "the next one is due in five minutes"
        later = pipeline(tmp_path, events=2 * EVENTS).points(PointsKept(every=timedelta(0), kept=timedelta(0)))
        run(later)
        assert list((tmp_path / "pipeline" / "points").iterdir()) == []

    def test_what_was_captured_behind_the_oldest_is_kept(self, tmp_path: Path) -> None:
        """Batches of a few events: Spark's own last hundred begin long after the first point."""
        prepare(tmp_path)
        many = BatchLimits(max_events=1, max_wait=timedelta(0), respect_source_tx=False)
        run(pipeline(tmp_path, events=8, chunk=4).batch(many))
        (point,) = [int(path.name) for path in (tmp_path / "pipeline" / "points").iterdir()]
        whole = pipeline(tmp_path, events=140, chunk=4).batch(many)
        run(whole)
        assert point in {target.oseq for target in whole.rollbacks().targets()}


def forget_all_but_the_newest(spark: Path) -> None:
    """What Spark's own retention does after a hundred batches."""
    newest = max(int(path.name) for path in (spark / "commits").iterdir() if path.name.isdecimal())
    for folder in ("offsets", "commits"):
        for path in (spark / folder).iterdir():
            if path.name.isdecimal() and int(path.name) < newest - 1:
                path.unlink()
