"""What a plan says about retention, cursors and partitions changes what happens."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import SOON, Piecemeal, finish, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Checkpointing, Pipeline, Quotas, Sqlite, Until
from holdfast.checkpoint import CURSORS, SqliteStore
from holdfast.log import Keep
from holdfast.model.errors import InvalidPipeline, PipelineDiverged
from holdfast.runtime.publisher import Replayed
from holdfast.runtime.rollback.points import PointsKept

if TYPE_CHECKING:
    from pathlib import Path

BATCH = 5
EVENTS = 130 * BATCH
"""More batches than the inbox keeps by itself for older copies."""
HOURS = timedelta(hours=1)
LONG = timedelta(seconds=15)
"""So that all events are in one batch."""


def pipeline(directory: Path, events: int = EVENTS) -> Pipeline:
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Piecemeal("orders", events=events, transactions=(BATCH,), chunk=BATCH))
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=BATCH, max_wait=timedelta(0)))
        .points(PointsKept(kept=timedelta(0)))
    )


def run(whole: Pipeline) -> int:
    """Run to the end of the source; the first event that the inbox still has."""
    with started(whole):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=SOON), whole.status()
        first = whole.engine.ground.inboxes["orders"].retained().first_seq
        whole.drain()
    return first


class TestWhatTheInboxKeeps:
    """More batches are run than it keeps by itself."""

    def test_it_forgets_what_was_read_long_ago(self, tmp_path: Path) -> None:
        assert run(pipeline(tmp_path)) > 1

    @pytest.mark.parametrize("keep", [Keep(age=HOURS), Keep(nbytes=10_000_000)], ids=["by age", "by size"])
    def test_it_keeps_that_when_it_is_told_to(self, tmp_path: Path, keep: Keep) -> None:
        assert run(pipeline(tmp_path).keep(keep)) == 1

    def test_what_has_become_too_old_goes_also_when_nothing_comes(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path).keep(Keep(age=timedelta(seconds=3)))
        with started(whole):
            inbox = whole.engine.ground.inboxes["orders"]
            assert whole.wait(until=Until.CAUGHT_UP, timeout=SOON)
            wait_until(lambda: inbox.retained().first_seq > 1, "what is too old is gone")
            assert inbox.retained().first_seq <= EVENTS - 100 * BATCH + 1

    def test_it_gives_way_to_a_capture_that_waits_for_room(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path, 2000).quotas(Quotas(inbox=100_000)).keep(Keep(age=HOURS))
        with started(whole.batch(BatchLimits(max_events=200))) as whole:
            finish(whole)
        assert table_numbers(tmp_path / "sink.db") == passed(2000)

    def test_more_than_half_of_the_quota_cannot_be_kept(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidPipeline, match="half"):
            pipeline(tmp_path).quotas(Quotas(inbox=1000)).keep(Keep(nbytes=501)).plan()


class TestCursors:
    """Each run has many batches, one behind the other."""

    def versions(self, whole: Pipeline) -> tuple[int, float]:
        """How many versions of the cursors there are after a run, and how many seconds it took."""
        began = time.monotonic()
        run(whole)
        with SqliteStore(whole.plan().directory / "checkpoints.db") as store:
            return len(store.versions(CURSORS.name)), time.monotonic() - began

    def test_they_are_written_once_a_cadence(self, tmp_path: Path) -> None:
        seldom = Checkpointing(cadence=timedelta(seconds=1), keep_versions=1000)
        written, seconds = self.versions(pipeline(tmp_path, 40 * BATCH).checkpoint(seldom))
        assert written <= seconds + 3, "the first, the last, and one a second"

    def test_as_many_versions_stay_as_are_to_be_kept(self, tmp_path: Path) -> None:
        written, _ = self.versions(pipeline(tmp_path, 40 * BATCH).checkpoint(Checkpointing(keep_versions=2)))
        assert written <= 4, "they are pruned now and then"


class TestAVeryOldCopyOfSparksCheckpoint:
    """It is put back after more batches than the inbox keeps by itself."""

    def go_back(self, directory: Path, keep: Keep) -> Pipeline:
        spark, older = directory / "pipeline" / "spark", directory / "older"
        run(pipeline(directory, 2 * BATCH).keep(keep))
        shutil.copytree(spark, older)
        run(pipeline(directory).keep(keep))
        shutil.rmtree(spark)
        older.rename(spark)
        return pipeline(directory, EVENTS + BATCH).keep(keep)

    def test_is_refused_when_what_it_has_to_read_again_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(PipelineDiverged, match="its inbox holds"):
            self.go_back(tmp_path, Keep()).start()

    @pytest.mark.req("X5", "X22")
    def test_is_continued_when_the_inbox_has_kept_that(self, tmp_path: Path) -> None:
        whole = self.go_back(tmp_path, Keep(age=HOURS))
        run(whole)
        assert {replay.verdict for replay in whole.engine.replays} == {Replayed.EQUAL}
        assert table_numbers(tmp_path / "sink.db") == passed(EVENTS + BATCH)


@pytest.mark.parametrize(
    ("limits", "parts"),
    [
        pytest.param(
            BatchLimits(max_events=60, max_wait=LONG, max_partitions=4), 1, id="a small batch is read by one task"
        ),
        pytest.param(
            BatchLimits(max_events=60, max_wait=LONG, max_partitions=4, partition_bytes=1), 4, id="smaller partitions"
        ),
        pytest.param(
            BatchLimits(max_events=60, max_wait=LONG, max_partitions=2, partition_bytes=1), 2, id="no more than so many"
        ),
    ],
)
def test_a_batch_is_read_by_as_many_tasks_as_its_size_needs(tmp_path: Path, limits: BatchLimits, parts: int) -> None:
    whole = pipeline(tmp_path, 60).batch(limits)
    with started(whole):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=SOON)
        (batch,) = whole.engine.ground.outbox.remembered()
        assert len(batch.parts) == parts


def test_partitions_of_no_size_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPipeline):
        pipeline(tmp_path).batch(BatchLimits(partition_bytes=0)).plan()
