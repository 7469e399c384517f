"""Spark's processes are killed under load: each time the pipeline goes on by itself, and its sinks are exact."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.descendants import Descendant, descendants_of, is_worker, is_worker_server
from tests.support.engine_pipelines import wait_until
from tests.support.spark_pipelines import passed, stateless, totals, totals_in
from tests.support.spark_pipelines import stateful as counting

from holdfast import Budget, Pipeline, Until
from holdfast.checkpoint import SqliteStore
from holdfast.flow.exits import Exit
from holdfast.runtime.gateway import running
from holdfast.runtime.records import HISTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVENTS = 24_000
PATIENCE = 240.0


def kill_jvm() -> None:
    jvm = running()
    assert jvm is not None
    os.killpg(jvm.process.pid, signal.SIGKILL)


def kill(which: Callable[[Descendant], bool]) -> None:
    found = [each for each in descendants_of(os.getpid()) if which(each)]
    assert found
    for each in found:
        os.kill(each.pid, signal.SIGKILL)


KILLS: dict[str, Callable[[], None]] = {
    "the JVM": kill_jvm,
    "the Python workers": lambda: kill(is_worker),
    "the process that forks workers": lambda: kill(is_worker_server),
    "all of them": lambda: kill(lambda _: True),
}


def batches(whole: Pipeline) -> int:
    return whole.status().spark.batch_id or 0


@pytest.mark.req("D1")
@pytest.mark.timeout(600)
def test_whatever_of_spark_is_killed_the_pipelines_go_on_by_themselves(tmp_path: Path) -> None:
    """Two pipelines share the JVM. One failure is all that their budgets allow, and none is used."""
    numbers = stateless(tmp_path / "a", events=EVENTS).restarts(Budget(failures=0))
    regions = counting(tmp_path / "b", events=EVENTS).restarts(Budget(failures=0))
    for whole in (numbers, regions):
        whole.start()
    for name, strike in KILLS.items():
        seen = [batches(whole) for whole in (numbers, regions)]
        wait_until(
            lambda seen=seen: batches(numbers) > seen[0] + 1 and batches(regions) > seen[1] + 1,  # type: ignore[misc]
            f"batches are finished before the end of {name}",
            within=PATIENCE,
        )
        for whole in (numbers, regions):
            assert whole.status().delivery.newest < EVENTS // 1000, "there is work left when they are struck"
        strike()
    for whole in (numbers, regions):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=PATIENCE), whole.status()
        assert whole.status().spark.active
        assert whole.status().spark.lost_lately >= 2
        whole.drain()
    assert table_numbers(tmp_path / "a" / "sink.db") == file_numbers(tmp_path / "a" / "files") == passed(EVENTS)
    assert totals_in(tmp_path / "b") == totals(EVENTS)
    with SqliteStore(tmp_path / "a" / "pipeline" / "checkpoints.db") as store:
        history = store.get(HISTORY)
    assert history is not None
    assert {run.exit for run in history.runs} == {Exit.ABORTED, Exit.OK}
    assert any("Spark's JVM was killed by SIGKILL" in run.reason for run in history.runs)
