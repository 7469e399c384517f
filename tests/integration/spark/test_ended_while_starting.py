"""A run that is ended while the JVM comes up does not wait for it, leaves no process behind, and goes on later."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.descendants import descendants_of
from tests.support.engine_pipelines import wait_until
from tests.support.spark_pipelines import passed, run, stateless

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 2000


@pytest.mark.req("M15")
@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
def test_a_run_that_is_ended_while_spark_comes_up(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.spark_process", str(tmp_path), str(EVENTS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        wait_until(lambda: any("spark-" in each.command for each in descendants_of(process.pid)), "the JVM is starting")
        helpers = descendants_of(process.pid)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ended\n"
        took = time.monotonic() - began
        assert process.wait(30) == 0
    assert took < 10, "nobody waits for the JVM"
    wait_until(lambda: not any(helper.lives for helper in helpers), "the JVM that came up is gone")
    assert not (tmp_path / "pipeline" / "spark" / "1" / "metadata").exists()
    run(stateless(tmp_path, events=EVENTS), patience=200)
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(EVENTS)
