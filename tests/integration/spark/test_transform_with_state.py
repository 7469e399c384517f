"""The user's own state, kept by `transformWithState`: a batch that Spark runs again counts nothing twice.

With state format 2 that holds also when the batch has other rows the second time; with format 1 it does not.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.engine_pipelines import started, wait_until
from tests.support.spark_pipelines import run, totals, totals_in
from tests.support.spark_state import pipeline

from holdfast.model.steps import Step
from holdfast.runtime.publisher import Replayed
from holdfast.runtime.spark_checkpoint import SparkCheckpoint

if TYPE_CHECKING:
    from holdfast import Pipeline

EVENTS = 1000
"""Two batches: to run one costs seconds."""
ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.usefixtures("protobuf", "spark"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def protobuf() -> None:
    if find_spec("google.protobuf") is None:
        pytest.skip("protobuf is not installed, which Spark needs for transformWithState in Python")


def finish(whole: Pipeline) -> None:
    run(whole, patience=200)


def spark_of(directory: Path) -> SparkCheckpoint:
    return SparkCheckpoint(directory / "pipeline" / "spark" / "1")


def verdicts(whole: Pipeline) -> list[Replayed]:
    return [replay.verdict for replay in whole.engine.replays]


@pytest.mark.req("X22", "X10")
def test_a_batch_whose_commit_is_gone_counts_nothing_twice(tmp_path: Path) -> None:
    finish(pipeline(tmp_path, events=EVENTS))
    spark = spark_of(tmp_path)
    (spark.directory / "commits" / str(spark.newest_finished())).unlink()
    again = pipeline(tmp_path, events=2 * EVENTS)
    finish(again)
    assert verdicts(again) == [Replayed.EQUAL]
    assert totals_in(tmp_path) == totals(2 * EVENTS)
    assert again.status().spark.starts == {"local": 1}


@pytest.mark.req("CKP-05")
def test_how_long_batches_took_to_write_their_state_is_told(tmp_path: Path) -> None:
    whole = pipeline(tmp_path, events=EVENTS)
    with started(whole, processor=None):
        wait_until(lambda: whole.status().spark.timing.batches == 2, "both batches are timed", within=200)
        status = whole.status().spark
    assert status.starts == {"fresh": 1}
    assert sum(status.timing.state_counts) == 2
    assert 0 < status.timing.state_seconds < status.timing.phases["addBatch"] < status.timing.phases["triggerExecution"]


@pytest.mark.req("X22", "X10")
def test_an_older_copy_of_the_checkpoint_counts_nothing_twice(tmp_path: Path) -> None:
    finish(pipeline(tmp_path, events=EVENTS))
    spark = spark_of(tmp_path).directory
    shutil.copytree(spark, tmp_path / "older")
    finish(pipeline(tmp_path, events=2 * EVENTS))
    shutil.rmtree(spark)
    (tmp_path / "older").rename(spark)
    again = pipeline(tmp_path, events=3 * EVENTS)
    finish(again)
    assert set(verdicts(again)) == {Replayed.EQUAL}
    assert totals_in(tmp_path) == totals(3 * EVENTS)


@pytest.mark.req("X10")
def test_a_kill_in_the_middle_of_a_batch_counts_nothing_twice(tmp_path: Path) -> None:
    """The state of the second batch is written by then, and the batch is not published."""
    command = [sys.executable, "-m", "tests.support.spark_state", str(tmp_path), str(EVENTS), Step.OUTBOX_PUBLISH, "2"]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        assert process.wait(200) == -signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    spark = spark_of(tmp_path)
    assert (spark.newest_planned(), spark.newest_finished()) == (1, 0)
    finish(pipeline(tmp_path, events=2 * EVENTS))
    assert totals_in(tmp_path) == totals(2 * EVENTS)


class TestOtherRows:
    """A batch was evaluated and not published, and its plan is lost: as when an older copy is laid over a checkpoint.

    It is planned again with more rows, while the state files of its first evaluation are still there.
    """

    @pytest.mark.req("X10")
    def test_with_state_format_2_it_counts_right(self, tmp_path: Path) -> None:
        assert self.counted(tmp_path, "2") == totals(3 * EVENTS)

    def test_with_state_format_1_it_would_count_wrong(self, tmp_path: Path) -> None:
        assert self.counted(tmp_path, "1") != totals(3 * EVENTS)

    def counted(self, directory: Path, state_format: str) -> dict[int, tuple[int, int]]:
        lost = self.evaluate_without_publishing(pipeline(directory, events=EVENTS, state_format=state_format))
        spark = spark_of(directory)
        assert spark.newest_planned() == lost
        (spark.directory / "offsets" / str(lost)).unlink()
        wide = {"max_events": 10 * EVENTS, "max_wait": 3.0}
        finish(pipeline(directory, events=2 * EVENTS, state_format=state_format, **wide))
        assert spark.newest_finished() == lost, "all that was left is in the one batch"
        finish(pipeline(directory, events=3 * EVENTS, state_format=state_format))
        return totals_in(directory)

    @staticmethod
    def evaluate_without_publishing(whole: Pipeline) -> int:
        """Run until the second batch is evaluated, and let it never be published. Its number."""
        whole.start(hook=Refusing(from_batch=1))
        deadline = time.monotonic() + 200
        while whole.status().spark.restarts == 0:
            assert time.monotonic() < deadline, whole.status()
            time.sleep(0.05)
        whole.stop()
        return 1


@dataclass
class Refusing:
    """A step hook that lets batches from this one on never be published. It travels to Spark's workers."""

    from_batch: int
    published: int = 0

    def __call__(self, step: str, /) -> None:
        if step == Step.OUTBOX_PUBLISH:
            if self.published == self.from_batch:
                raise RuntimeError("not now")
            self.published += 1
