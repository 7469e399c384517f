"""Pipelines in real Spark: a batch that Spark runs again changes no sink, with state and without."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.spark_pipelines import NUMBERS, passed, run, stateful, stateless, totals, totals_in

from holdfast import Accept, State
from holdfast.model.errors import PipelineDiverged
from holdfast.runtime.publisher import Replayed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

EVENTS = 4000

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def forget_newest_commit(directory: Path) -> None:
    """Let Spark believe that its newest batch was never finished."""
    commits = directory / "pipeline" / "spark" / "1" / "commits"
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdigit())
    (commits / str(newest)).unlink()


@pytest.mark.req("X22", "D1", "X5")
def test_a_replayed_batch_changes_no_sink_and_the_pipeline_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    run(stateless(tmp_path, events=EVENTS))
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(EVENTS)
    forget_newest_commit(tmp_path)
    again = stateless(tmp_path, events=2 * EVENTS)
    run(again)
    assert [replay.verdict for replay in again.engine.replays] == [Replayed.EQUAL]
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(2 * EVENTS)


@pytest.mark.req("X22", "X10")
def test_a_replayed_batch_with_state_counts_nothing_twice(tmp_path: Path, spark: SparkSession) -> None:
    run(stateful(tmp_path, events=EVENTS))
    assert totals_in(tmp_path) == totals(EVENTS)
    forget_newest_commit(tmp_path)
    again = stateful(tmp_path, events=2 * EVENTS)
    run(again)
    assert [replay.verdict for replay in again.engine.replays] == [Replayed.EQUAL]
    assert totals_in(tmp_path) == totals(2 * EVENTS)


def test_randomness_in_a_step_without_state_is_reported(tmp_path: Path, spark: SparkSession) -> None:
    query = NUMBERS.replace("FROM events", ", rand() AS luck FROM events")
    run(stateless(tmp_path, events=EVENTS, query=query))
    forget_newest_commit(tmp_path)
    again = stateless(tmp_path, events=2 * EVENTS, query=query)
    run(again)
    assert [replay.verdict for replay in again.engine.replays] == [Replayed.NOT_DETERMINISTIC]
    assert table_numbers(tmp_path / "sink.db") == passed(2 * EVENTS)


def test_randomness_in_a_step_with_state_stops_the_pipeline(tmp_path: Path, spark: SparkSession) -> None:
    query = """
        SELECT region, count(*) AS orders, CAST(sum(luck) AS BIGINT) AS cents, max(seq) AS seq
        FROM (SELECT after.customer % 7 AS region, seq, rand() * 1e9 AS luck FROM events) GROUP BY region
    """
    run(stateful(tmp_path, events=EVENTS, query=query))
    before = totals_in(tmp_path)
    forget_newest_commit(tmp_path)
    again = stateful(tmp_path, events=EVENTS, query=query)
    again.start()
    assert again.wait(timeout=100)
    assert again.engine.state is State.DIVERGED
    again.stop()
    assert totals_in(tmp_path) == before


def test_a_checkpoint_that_is_gone_is_explained_and_continued_when_accepted(
    tmp_path: Path, spark: SparkSession
) -> None:
    run(stateless(tmp_path, events=EVENTS))
    shutil.rmtree(tmp_path / "pipeline" / "spark")
    with pytest.raises(PipelineDiverged, match="Spark's checkpoint is gone"):
        stateless(tmp_path, events=2 * EVENTS).start()
    again = stateless(tmp_path, events=2 * EVENTS)
    run(again, accept=Accept.NEW_GENERATION)
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(2 * EVENTS)
