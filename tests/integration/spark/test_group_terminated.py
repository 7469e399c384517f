"""A signal to a whole process group, as of Ctrl-C, drains the run; Spark's processes do not see it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import wait_until

from holdfast.control.client import ask
from holdfast.model.errors import HoldfastError

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "SELECT seq, source, event_id, tx_id, tx_end, after.n AS n FROM events WHERE after.n % 10 <> 0"
TEXT = DOCUMENT.replace("  sinks:", f"  process: [{{sql: {QUERY!r}}}]\n  sinks:")

STACKS = ("Traceback (most recent call last)", '  File "', "\tat ", "Caused by: ")
"""How a stack of Python or of Java begins."""


def committed(directory: Path) -> int:
    try:
        return int(ask(directory / "pipeline", "status")["snapshot"]["outbox"]["committed"])
    except HoldfastError:
        return 0


@pytest.mark.req("M15")
@pytest.mark.timeout(300)
def test_a_signal_to_the_whole_group_drains_and_says_so_without_a_stack(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(TEXT)
    command = [sys.executable, "-m", "holdfast.cli", "run", "--output", "json"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            wait_until(lambda: committed(tmp_path) > 2, "rows are delivered", within=200)
            os.killpg(process.pid, signal.SIGTERM)
            out, said = process.communicate(timeout=60)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    last = json.loads(out.splitlines()[-1])
    assert (process.returncode, last["event"]) == (0, "ended"), said
    assert last["stop"]["reason"] == "graceful"
    assert [line for line in said.splitlines() if line.startswith(STACKS)] == [], said
    rows = table_numbers(tmp_path / "sink.db")
    assert rows == [n for n in range(1, rows[-1] + 1) if n % 10]
    assert file_numbers(tmp_path / "files")[: len(rows)] == rows[: len(file_numbers(tmp_path / "files"))]
