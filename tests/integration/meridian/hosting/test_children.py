"""Processes beside fusion: started again when they end, and gone when the one that started them is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meridian.hosting.children import REFUSED, Child

MODULE = "tests.support.staying"
ROOT = Path(__file__).resolve().parents[4]
PARENT = f"""
import sys, time
from pathlib import Path
from meridian.hosting.children import Child
Child("{MODULE}", [sys.argv[1]], Path(sys.argv[1]).with_suffix(".log"))
time.sleep(600)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "numbers"


@pytest.fixture
def child(file: Path) -> Iterator[Child]:
    child = Child(MODULE, [str(file)], file.with_suffix(".log"))
    yield child
    child.stop()


def numbers(file: Path) -> list[int]:
    """Of the processes that began."""
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_that_is_killed_is_started_again(child: Child, file: Path) -> None:
    until(lambda: len(numbers(file)) == 1)
    os.kill(numbers(file)[0], signal.SIGKILL)
    until(lambda: len(numbers(file)) == 2)
    assert child.is_kept


def test_a_child_that_was_stopped_stays_so(child: Child, file: Path) -> None:
    until(lambda: len(numbers(file)) == 1)
    child.stop()
    assert not child.is_kept
    assert not lives(numbers(file)[0])
    assert len(numbers(file)) == 1


def test_a_child_that_could_not_start_is_given_up(file: Path) -> None:
    child = Child(MODULE, [str(file), str(REFUSED)], file.with_suffix(".log"))
    until(lambda: not child.is_kept)
    assert len(numbers(file)) == 1


def test_a_child_is_gone_when_only_its_parent_is_killed(file: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(file)], cwd=ROOT)
    until(lambda: len(numbers(file)) == 1)
    parent.kill()
    parent.wait()
    until(lambda: not lives(numbers(file)[0]))
