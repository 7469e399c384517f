"""Kills a loaded pipeline in Spark, with its whole process group, at random moments, and reconciles from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from tests.support.crash.reconcile import file_numbers, table_numbers

ROOT = Path(__file__).resolve().parents[2]


class Campaign:
    """One pipeline and its many lives."""

    def __init__(self, directory: Path, *, seed: int, events: int = 200_000, longest: float = 25.0) -> None:
        self._directory = directory
        self._events = events
        self._longest = longest
        self._random = Random(seed)
        directory.mkdir(parents=True)

    def run(self, kills: int) -> str:
        """Kill so many times, let it run to its end, compare, and tell in a sentence. Raises when it is not exact."""
        grown = 0
        for number in range(1, kills + 1):
            had = self._rows()
            self._live(self._random.uniform(1.0, self._longest))
            grown += self._rows() > had
            print(f"crash: kill {number} of {kills}, {self._rows():,} rows in the table", flush=True)
        self._live(None)
        expected = [n for n in range(1, self._events + 1) if n % 10]
        assert table_numbers(self._directory / "sink.db") == expected
        assert file_numbers(self._directory / "files") == expected
        return (
            f"{kills} kills of the whole process group, at random moments up to {self._longest:.0f} s into a life; "
            f"rows reached the sinks in {grown} of those lives. {len(expected):,} rows in each sink: none lost, none "
            "doubled, all in order."
        )

    def _live(self, seconds: float | None) -> None:
        """One life of the pipeline; killed after so many seconds, or let run to its end."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.spark_process", str(self._directory), str(self._events)],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(seconds if seconds is not None else 1800)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _wait_for_group_to_end(process.pid)
        assert seconds is not None or process.returncode == 0

    def _rows(self) -> int:
        path = self._directory / "sink.db"
        return len(table_numbers(path)) if path.exists() and path.stat().st_size > 8192 else 0


def _wait_for_group_to_end(group: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process group {group} outlived SIGKILL")
