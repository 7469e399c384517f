"""A processor that crashes is started again, counted, and in the end left alone; what has failed stays so."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import Tap, Watched, finish, impatient, started, wait_until
from tests.support.engine_process import crash, pipeline
from tests.support.local_pipelines import passed

from holdfast import Budget, Pipeline, Sqlite, State
from holdfast.capture import CaptureState
from holdfast.model.errors import (
    CursorMoved,
    PipelineFailed,
    RestartsExhausted,
    SparkDied,
    SparkUnavailable,
    StepRefused,
)
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from holdfast.deliver import SinkBatch

EVENTS = 300


class Crashing:
    """Steps that fail the first few times, each time for a reason that lies in no row."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, events: pa.Table) -> pa.Table:
        if self.left:
            self.left -= 1
            raise MemoryError("the steps need more memory")
        return orders(events)


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("times", [1, 3])
def test_a_processor_that_crashes_is_started_again_and_counted_and_nothing_is_lost(tmp_path: Path, times: int) -> None:
    steps = Crashing(times)
    whole = pipeline(tmp_path, EVENTS, failures=times)
    with started(whole, processor=lambda: LocalProcessor(steps)):
        finish(whole)
    assert whole.status().spark.restarts == times
    assert whole.status().spark.starts == {"fresh": times + 1}, "no batch was ever finished before"
    newest = whole.status().spark.batch_id
    assert newest is not None
    assert whole.status().spark.timing.batches == newest + 1, "also of those that ended just before the end"
    assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)


class TestThatAlwaysCrashes:
    """The budget is two failures."""

    @pytest.mark.req("M17")
    def test_it_fails_when_the_budget_is_used_up(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path, EVENTS, failures=2)
        with started(whole, processor=lambda: LocalProcessor(crash)):
            assert whole.wait(timeout=20)
            assert whole.engine.state is State.FAILED
            assert isinstance(whole.engine.error, RestartsExhausted)
            assert whole.status().spark.restarts == 2

    @pytest.mark.req("M17")
    def test_a_start_is_never_refused_and_says_how_the_last_run_ended(self, tmp_path: Path) -> None:
        assert "HF-807" in another_process(tmp_path, failures=2, manner="crashing").stdout
        again = another_process(tmp_path, failures=2, manner="sound")
        assert again.stdout.strip() == "ended stopped"
        assert (
            "starts again with a whole restart budget; its last run failed: ZeroDivisionError: the steps "
            in again.stderr
        )
        assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)


DIED = SparkDied("Spark's JVM was killed by SIGKILL.", remedy="Wait.")
NO_JVM = SparkUnavailable("Spark's JVM ended while it started.", remedy="Wait.")
REFUSED = StepRefused("Spark refuses step 1 (sql).", remedy="Correct the step.")


class Spark:
    """Processors of which each start, or its first batch, meets the next of these errors, until there are none left."""

    def __init__(self, *errors: Exception) -> None:
        self._left = list(errors)

    def __call__(self) -> LocalProcessor:
        if self._left and self._left[0] is not DIED:
            raise self._left.pop(0)
        return LocalProcessor(self._process)

    def _process(self, events: pa.Table) -> pa.Table:
        if self._left:
            raise self._left.pop(0)
        return orders(events)


class TestThatLosesSpark:
    """No failure is allowed, so whatever is counted against the budget ends the pipeline."""

    @pytest.mark.req("D1")
    @pytest.mark.parametrize("errors", [(DIED,), (DIED, DIED, DIED), (DIED, NO_JVM, NO_JVM, DIED)])
    def test_it_goes_on_by_itself_and_the_budget_is_untouched(self, tmp_path: Path, errors: list[Exception]) -> None:
        whole = pipeline(tmp_path, EVENTS, failures=0)
        with started(whole, processor=Spark(*errors)):
            finish(whole)
        spark = whole.status().spark
        assert (spark.restarts, spark.lost_lately) == (len(errors), len(errors))
        assert spark.last_failure == "Spark's JVM was killed by SIGKILL."
        assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)

    def test_a_jvm_that_never_came_up_is_counted(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path, EVENTS, failures=1)
        with started(whole, processor=Spark(NO_JVM, NO_JVM)):
            assert whole.wait(timeout=20)
            assert isinstance(whole.engine.error, RestartsExhausted)
            assert whole.engine.error.what.endswith("The last failure: Spark's JVM ended while it started.")


class TestWhoseStepsAreRefused:
    def test_it_has_failed_at_once_and_says_why_once(self, tmp_path: Path) -> None:
        whole = pipeline(tmp_path, EVENTS, failures=9)
        with started(whole, processor=Spark(REFUSED)):
            assert whole.wait(timeout=20)
            assert whole.status().spark.restarts == 0
            with pytest.raises(PipelineFailed) as raised:
                whole.drain()
        assert raised.value.what == "Pipeline 'orders' failed (HF-811): Spark refuses step 1 (sql)."
        assert raised.value.remedy == "Correct the step."

    def test_steps_that_were_taken_before_are_tried_again(self, tmp_path: Path) -> None:
        """What they read beside the events, as a table, may be away for a while."""
        whole = pipeline(tmp_path, EVENTS, failures=1)
        with started(whole, processor=Spark(DIED, REFUSED)):
            finish(whole)
        assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)


def test_a_used_up_budget_is_told_with_its_code_and_its_reason_once(tmp_path: Path) -> None:
    whole = pipeline(tmp_path, EVENTS, failures=0)
    with started(whole, processor=Spark(NO_JVM)):
        assert whole.wait(timeout=20)
        with pytest.raises(PipelineFailed) as raised:
            whole.drain()
    told = str(raised.value)
    assert (told.count("HF-807"), told.count(NO_JVM.what), told.count("start the pipeline again")) == (1, 1, 1)


def another_process(directory: Path, *, failures: int, manner: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.engine_process", str(directory), str(EVENTS), str(failures), manner]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


class TestThatHasFailed:
    """A sink that the pipeline requires breaks for good at the first batch."""

    @pytest.fixture
    def source(self) -> Tap:
        return Tap(EVENTS, open_to=66)

    @pytest.fixture
    def sink(self, tmp_path: Path) -> Watched:
        def break_for_good(_: SinkBatch) -> None:
            raise CursorMoved("The table is an older copy.", remedy="Start the pipeline again.")

        return Watched(Sqlite(tmp_path / "sink.db", table="orders"), before=break_for_good)

    @pytest.fixture
    def failed(self, tmp_path: Path, source: Tap, sink: Watched) -> Iterator[Pipeline]:
        whole = Pipeline("orders", directory=tmp_path / "pipeline").read(source).write(impatient("table", sink))
        with started(whole.restarts(Budget(failures=1))) as whole:
            assert whole.wait(timeout=20)
            assert whole.engine.state is State.FAILED
            yield whole

    @pytest.mark.req("M17")
    def test_it_reads_nothing_and_tries_nothing_any_more(self, failed: Pipeline, source: Tap) -> None:
        wait_until(lambda: is_at_rest(failed), "capture and processor have ended")
        source.open_to = EVENTS
        status = failed.status()
        assert status.state is State.FAILED
        assert status.spark.restarts == 0
        assert [capture.end for capture in status.captures] == [66]

    @pytest.mark.req("M17", "D1")
    def test_it_goes_on_when_somebody_starts_it_again(
        self, tmp_path: Path, failed: Pipeline, source: Tap, sink: Watched
    ) -> None:
        source.open_to = EVENTS
        sink.before = lambda _: None
        with started(failed):
            finish(failed)
        assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)


def is_at_rest(whole: Pipeline) -> bool:
    status = whole.status()
    return not status.spark.active and all(capture.state is CaptureState.STOPPED for capture in status.captures)
