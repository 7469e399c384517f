"""Kills a loaded pipeline in Spark, with its whole process group, at random moments, and reconciles from outside."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from tests.support.crash.reconcile import file_numbers, table_numbers

ROOT = Path(__file__).resolve().parents[2]


class Campaign:
    """One pipeline and its many lives: a third of them end while Spark is starting, the others under load."""

    def __init__(self, directory: Path, *, seed: int, events: int = 200_000, kind: str = "stateless") -> None:
        self._directory = directory
        self._events = events
        self._kind = kind
        self._random = Random(seed)
        directory.mkdir(parents=True)

    def run(self, kills: int) -> str:
        """Kill so many times, let it run to its end, compare, and tell in a sentence. Raises when it is not exact."""
        loaded = self.kill(kills)
        expected = [n for n in range(1, self._events + 1) if n % 10]
        assert table_numbers(self._directory / "sink.db") == expected
        assert file_numbers(self._directory / "files") == expected
        return (
            f"{kills} kills of the whole process group at random moments, {loaded} of them under load and the others "
            f"while Spark was starting. {len(expected):,} rows in each sink: none lost, none doubled, all in order."
        )

    def kill(self, kills: int) -> int:
        """Kill so many times, then let it run to its end. Returns how many kills came while rows were arriving."""
        loaded = 0
        for number in range(1, kills + 1):
            loaded += self._life_that_is_killed()
            print(f"crash: kill {number} of {kills}, {self._progress():,} events are in the table", flush=True)
        assert self._begin().wait(1800) == 0
        return loaded

    def _life_that_is_killed(self) -> bool:
        """One life of the pipeline; True when rows reached the table in it."""
        before = self._progress()
        process = self._begin()
        if self._random.random() < 1 / 3:
            time.sleep(self._random.uniform(0, 12))
        else:
            self._wait_for_rows_above(before, process)
            time.sleep(self._random.uniform(0, 4))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        wait_for_group_to_end(process.pid)
        return self._progress() > before

    def _begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.spark_process", str(self._directory), str(self._events), self._kind],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _wait_for_rows_above(self, before: int, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + 120
        while self._progress() <= before:
            assert process.poll() is None, "the pipeline ended by itself: give it more events"
            assert time.monotonic() < deadline, "no row came for two minutes"
            time.sleep(0.05)

    def _progress(self) -> int:
        """The newest event that reached the table."""
        table = {"stateless": "orders", "stateful": "totals"}[self._kind]
        db = sqlite3.connect(self._directory / "sink.db")
        try:
            return int(db.execute(f"SELECT coalesce(max(seq), 0) FROM {table}").fetchone()[0])
        except sqlite3.OperationalError:
            return 0  # the table is not there yet
        finally:
            db.close()


def wait_for_group_to_end(group: int) -> None:
    """A group that was killed is gone when its last process is."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process group {group} outlived SIGKILL")
