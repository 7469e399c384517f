"""Spark's processes see no signal of the terminal, print to a log file, and end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT
from tests.support.descendants import descendants_of
from tests.support.engine_pipelines import wait_until

from holdfast.control.client import ask
from holdfast.model.errors import HoldfastError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPARK_NOISE = ("WARN", "log4j", "incubator", "log level", "ERROR", "\tat ", "java.", "org.apache.")
SLEEPING = """
import time

def asleep(batches):
    for batch in batches:
        time.sleep(600)
        yield batch

def slow(events):
    return events.mapInArrow(asleep, events.schema)
"""


def committed(directory: Path) -> int:
    try:
        return int(ask(directory / "pipeline", "status")["snapshot"]["outbox"]["committed"])
    except HoldfastError:
        return 0


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`holdfast run` of a pipeline with a Python step that has made Spark start workers."""
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT)
    yield from _run(tmp_path)


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`holdfast run` of a pipeline whose step sleeps in a Python worker."""
    (tmp_path / "sleeping.py").write_text(SLEEPING)
    (tmp_path / "pipeline.yaml").write_text(
        DOCUMENT.replace("  sinks:", "  process: [{python: 'sleeping:slow'}]\n  sinks:")
    )
    yield from _run(tmp_path)


def _run(directory: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "holdfast.cli", "run", "--output", "json"]
    with subprocess.Popen(
        command,
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(directory)},
    ) as process:
        yield process
        process.kill()


@pytest.mark.req("M15")
@pytest.mark.timeout(300)
def test_ctrl_c_reaches_no_process_of_spark_and_the_terminal_shows_nothing_of_it(
    started: subprocess.Popen[str], tmp_path: Path
) -> None:
    wait_until(lambda: committed(tmp_path) > 2, "rows are delivered", within=200)
    helpers = descendants_of(started.pid)
    assert any("java" in helper.command for helper in helpers)
    assert any("pyspark.daemon" in helper.command or "nursery" in helper.command for helper in helpers)
    assert [helper for helper in helpers if os.getsid(helper.pid) == started.pid] == []
    os.killpg(started.pid, signal.SIGINT)
    _, said = started.communicate(timeout=100)
    assert started.returncode == 0, said
    assert [line for line in said.splitlines() if any(word in line for word in SPARK_NOISE)] == []
    assert "Using Spark's default log4j profile" in (tmp_path / "pipeline" / "log" / "spark.log").read_text()
    wait_until(lambda: not any(helper.lives for helper in helpers), "nothing is left over", within=15)


@pytest.mark.timeout(300)
def test_kill_9_while_a_task_runs_leaves_no_process_behind(busy: subprocess.Popen[str], tmp_path: Path) -> None:
    def is_asleep() -> bool:
        return any((tmp_path / "pipeline" / "spark" / "1" / "offsets").glob("0")) and any(
            helper.command.count("pyspark.daemon") for helper in descendants_of(busy.pid)
        )

    wait_until(is_asleep, "the first batch runs", within=200)
    helpers = descendants_of(busy.pid)
    busy.kill()
    wait_until(lambda: not any(helper.lives for helper in helpers), "nothing is left over", within=30)
