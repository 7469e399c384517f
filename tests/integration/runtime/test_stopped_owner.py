"""An owner is stopped while it holds the lock of a SQLite file: its successor waits, says so, and goes on after it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.local_pipelines import check_exact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVENTS = 2200
PATIENCE = 60


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the owner or its successor over the same directory."""
    processes: list[subprocess.Popen[str]] = []

    def begin(*role: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.support.lock_process", str(tmp_path), str(EVENTS), *role]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()  # also ends one that is stopped
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def lines_until(process: subprocess.Popen[str], *beginning: str) -> list[str]:
    """What the process says, up to the first line that begins in one of these ways."""
    assert process.stdout is not None
    said: list[str] = []
    while not said or not said[-1].startswith(beginning):
        line = process.stdout.readline()
        assert line, said
        said.append(line.strip())
    return said


def wait_until_stopped(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert process.poll() is None, "the owner has ended"
        assert time.monotonic() < deadline, "the owner never stopped in a commit"
        time.sleep(0.01)


@pytest.mark.req("D3", "X11")
@pytest.mark.parametrize("place", ["pipeline/checkpoints.db", "inbox/orders/index.db", "outbox/index.db"])
def test_a_successor_waits_for_the_lock_and_goes_on_when_the_owner_continues(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], place: str
) -> None:
    owner = start("owner", place)
    wait_until_stopped(owner)
    successor = start("successor")
    waiting = lines_until(successor, "log ")[-1]
    assert "waits for a lock that another process holds" in waiting
    assert f"Process {owner.pid} " in waiting
    assert "is stopped" in waiting
    os.kill(owner.pid, signal.SIGCONT)
    lines_until(successor, "started")
    said = lines_until(owner, "ended ")
    assert said[-1].startswith(("ended HF-301", "ended HF-502", "ended HF-406", "ended HF-802")), said
    assert lines_until(successor, "ended ")[-1] == "ended stopped"
    check_exact(tmp_path, EVENTS)


@pytest.mark.req("X11")
def test_a_successor_goes_on_when_the_owner_is_killed(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    owner = start("owner", "inbox/orders/index.db")
    wait_until_stopped(owner)
    successor = start("successor")
    lines_until(successor, "log ")
    owner.kill()
    assert lines_until(successor, "ended ")[-1] == "ended stopped"
    check_exact(tmp_path, EVENTS)


@pytest.mark.req("D3", "X11")
def test_a_sink_whose_file_the_owner_has_locked_is_written_once_the_owner_continues(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    owner = start("owner", "/sink.db")
    wait_until_stopped(owner)
    successor = start("successor")
    lines_until(successor, "started", "log ")  # other threads of the owner may hold other locks
    os.kill(owner.pid, signal.SIGCONT)
    lines_until(owner, "ended HF-")
    assert lines_until(successor, "ended ")[-1] == "ended stopped"
    check_exact(tmp_path, EVENTS)


def test_a_successor_that_waits_can_be_asked_to_end(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    owner = start("owner", "inbox/orders/index.db")
    wait_until_stopped(owner)
    successor = start("successor")
    lines_until(successor, "log ")
    successor.terminate()
    assert successor.wait(PATIENCE) == 0
