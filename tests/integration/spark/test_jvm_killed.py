"""Spark's processes are killed under load: each time the pipeline goes on by itself, and its sinks are exact."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import holdfast
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.descendants import Descendant, descendants_of, is_jvm, is_worker, is_worker_server
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
    killed = 0
    for each in found:
        with suppress(ProcessLookupError):  # a task has ended in the meantime, and its worker with it
            os.kill(each.pid, signal.SIGKILL)
            killed += 1
    assert killed


KILLS: dict[str, Callable[[], None]] = {
    "the JVM": kill_jvm,
    "the Python workers": lambda: kill(is_worker),
    "the process that forks workers": lambda: kill(is_worker_server),
    "all of them": lambda: kill(lambda each: is_jvm(each) or is_worker(each) or is_worker_server(each)),
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


DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  directory: pipeline
  source: {type: generator, name: orders, pace: {rate: 200}}
  process: [{sql: "SELECT seq, after.n AS n FROM events"}]
  sinks: [{name: table, type: sqlite, path: orders.db, table: orders}]
  restarts: {failures: 0}
  spark: {master: "local[1]"}
"""


def delivered(directory: Path) -> int:
    status = holdfast("status", "pipeline", "--output", "json", directory=directory)
    return int(status.json["snapshot"]["outbox"]["committed"]) if status.code in (0, 3, 5) else 0


@pytest.mark.timeout(400)
def test_the_command_goes_on_by_itself_and_says_in_one_line_why_spark_was_away(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT)
    with (tmp_path / "said").open("w") as said:
        command = [sys.executable, "-m", "holdfast.cli", "run"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=said, stderr=said)
    try:
        wait_until(lambda: delivered(tmp_path) > 0, "a batch is delivered", within=PATIENCE)
        (java,) = [each for each in descendants_of(process.pid) if "java" in each.command]
        os.kill(java.pid, signal.SIGKILL)
        wait_until(lambda: not java.lives, "the JVM is dead")
        before = delivered(tmp_path)
        wait_until(lambda: delivered(tmp_path) > before + 1, "batches are delivered again", within=PATIENCE)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
    text = (tmp_path / "said").read_text()
    assert text.count("it is started again in 0.1 s: Spark's JVM was killed by SIGKILL.") == 1
    assert not any(sign in text for sign in ("Traceback", "\tat ", "py4j", "Errno"))
    with closing(sqlite3.connect(tmp_path / "orders.db")) as table:
        rows, distinct, most = table.execute("SELECT count(*), count(DISTINCT n), max(n) FROM orders").fetchone()
    assert rows == distinct == most > 0
