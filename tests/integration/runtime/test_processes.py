"""Whole processes over one pipeline directory: terminated, taken over, stopped and woken up."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import table_numbers
from tests.support.local_pipelines import check_exact, passed

from holdfast.checkpoint import CURSORS, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVENTS = 8800
HALF = "4400+"
"""Whole transactions, after which the source waits for more: such a process is still there when it is to be ended."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a pipeline process over the same directory and waits until it runs, or says why not."""
    processes: list[subprocess.Popen[str]] = []

    def begin(events: int | str = EVENTS, takeover: str = "refuse") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.local_process", str(tmp_path), str(events), takeover],
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def wait_for_rows(directory: Path, at_least: int) -> None:
    """Wait until the table has so many rows."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if len(table_numbers(directory / "sink.db")) >= at_least:
                return
        except sqlite3.OperationalError:
            pass  # the table is not there yet
        time.sleep(0.02)
    pytest.fail(f"the table never had {at_least} rows")


@pytest.mark.req("M15")
def test_sigterm_drains_and_the_next_start_goes_on_from_there(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    first = start(HALF)
    assert line(first) == "started"
    wait_for_rows(tmp_path, 100)
    began = time.monotonic()
    first.terminate()
    assert line(first) == "ended stopped"
    assert time.monotonic() - began < 10
    had = len(table_numbers(tmp_path / "sink.db"))
    second = start(EVENTS)
    assert line(second) == "started"
    assert line(second) == "ended stopped"
    assert had < len(passed(EVENTS))
    check_exact(tmp_path, EVENTS)


@pytest.mark.req("D3")
def test_a_second_process_is_refused(tmp_path: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    first = start()
    assert line(first) == "started"
    assert line(start()).startswith("ended HF-801")
    assert line(first) == "ended stopped"
    check_exact(tmp_path, EVENTS)


@pytest.mark.req("D3", "X11")
def test_a_process_that_wakes_up_after_a_takeover_changes_no_sink_and_no_cursor(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    first = start(HALF)
    assert line(first) == "started"
    wait_for_rows(tmp_path, 100)
    stop_between_commits(first, tmp_path)
    second = start(takeover="fence")
    assert line(second) == "started"
    assert line(second) == "ended stopped"
    check_exact(tmp_path, EVENTS)
    cursors = stored_cursors(tmp_path)
    os.kill(first.pid, signal.SIGCONT)
    assert line(first).startswith("ended HF-")
    first.wait(30)
    check_exact(tmp_path, EVENTS)
    assert stored_cursors(tmp_path) == cursors


@pytest.mark.req("X11")
def test_a_takeover_ends_the_owner_and_goes_on(tmp_path: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    first = start(HALF)
    assert line(first) == "started"
    wait_for_rows(tmp_path, 100)
    second = start(EVENTS, takeover="end")
    assert line(second) == "started"
    assert first.wait(10) == -signal.SIGKILL
    assert line(second) == "ended stopped"
    check_exact(tmp_path, EVENTS)


def stop_between_commits(process: subprocess.Popen[str], directory: Path) -> None:
    """Stop the process where it holds no lock: one that is stopped within a commit keeps everybody else out."""
    databases = [directory / "sink.db", *(directory / "pipeline").rglob("*.db")]
    for _ in range(200):
        os.kill(process.pid, signal.SIGSTOP)
        wait_until_stopped(process.pid)
        if not any(is_locked(path) for path in databases):
            return
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.01)
    pytest.fail("the process was never stopped between commits")


def wait_until_stopped(pid: int) -> None:
    """The signal is on its way when `kill` returns; here every thread has stopped."""
    threads = [Path(task.path) / "stat" for task in os.scandir(f"/proc/{pid}/task")]
    while any(stat.read_text().rpartition(")")[2].split()[0] != "T" for stat in threads if stat.exists()):
        time.sleep(0.001)


def is_locked(path: Path) -> bool:
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    finally:
        db.close()
    return False


def stored_cursors(directory: Path) -> object:
    with SqliteStore(directory / "pipeline" / "checkpoints.db") as store:
        return store.get(CURSORS)
