"""Logs that are rotated, truncated, removed and begun anew at random, followed by a process that is killed at random.

The writers know every line they wrote, and the table is read with sqlite3 only: each line must be in it exactly once.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.support.log_lines import follow_until_killed
from tests.support.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Collection
    from multiprocessing.context import ForkServerProcess

SECONDS, KILLS = 60, 20
LOGS = ("app.log", "db.log", "web.log")
PATIENCE = 90.0

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["tests.support.log_lines"])


class Table:
    """What has arrived, as somebody outside sees it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._last = 0
        self._found: dict[str, Counter[int]] = defaultdict(Counter)

    def found(self, log: str) -> Counter[int]:
        """How often each line of a log is there."""
        with self._lock:
            self._read_on()
            return Counter(self._found[log])

    def wait_for(self, log: str, numbers: Collection[int]) -> None:
        """Wait until these lines are there."""
        deadline = time.monotonic() + PATIENCE
        while missing := set(numbers) - self.found(log).keys():
            assert time.monotonic() < deadline, f"{log}: {len(missing)} lines never came, first {sorted(missing)[:5]}"
            time.sleep(0.02)

    def _read_on(self) -> None:
        if not self._path.exists():
            return
        with closing(sqlite3.connect(self._path, timeout=30)) as db:
            try:
                rows = db.execute(
                    "SELECT rowid, line FROM lines WHERE rowid > ? ORDER BY rowid", (self._last,)
                ).fetchall()
            except sqlite3.OperationalError:
                return  # the table is not there yet
        for self._last, line in rows:
            log, number, *_ = line.split()
            self._found[log][int(number)] += 1


class Lives:
    """A process that follows the logs, and is killed and begun again."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.kills = 0
        self.may_kill = threading.Lock()
        """Held by who needs the process to stay alive."""
        self._process = self._begun()

    def kill(self) -> None:
        """End it without a word, and begin it again."""
        with self.may_kill:
            assert self._process.is_alive(), "it ended by itself"
            os.kill(self._process.pid or 0, signal.SIGKILL)
            self._process.join()
            self.kills += 1
            self._process = self._begun()

    def end(self) -> None:
        """End it for good."""
        os.kill(self._process.pid or 0, signal.SIGKILL)
        self._process.join()

    def _begun(self) -> ForkServerProcess:
        here, there = _processes.Pipe()
        process = _processes.Process(target=follow_until_killed, args=(str(self._directory), there))
        process.start()
        there.close()
        with here:
            assert here.poll(PATIENCE), "it never started"
            assert here.recv_bytes() == b"started"
        return process


class Writing:
    """The thread that writes and rotates one log."""

    def __init__(self, directory: Path, name: str, seed: int, table: Table, lives: Lives) -> None:
        self.name = name
        self._random = Random(seed)
        self._table = table
        self._lives = lives
        self._stop = threading.Event()
        self.writer = LogWriter(directory, name, self._random, wait_for=lambda lines: table.wait_for(name, lines))
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def finish(self) -> None:
        """Stop writing."""
        self._stop.set()
        self._thread.join()
        self.writer.close()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._random.uniform(0, 0.04)):
                self.writer.act()
                if self._random.random() < 0.01:
                    self._remove_unread()
        except BaseException as error:  # the test asks for it
            self.failure = error

    def _remove_unread(self) -> None:
        """Lines that only the open file has: the process must have it open, and live until it has read them."""
        with self._lives.may_kill:
            self.writer.write()
            self._table.wait_for(self.name, self.writer.written[-1:])
            self._table.wait_for(self.name, self.writer.write_and_remove())


@pytest.mark.req("G1", "G2", "G3", "G4", "G5", "G20")
@pytest.mark.timeout(400)
def test_every_line_arrives_exactly_once(tmp_path: Path) -> None:
    random = Random(20260101)
    logs = tmp_path / "logs"
    logs.mkdir()
    table, lives = Table(tmp_path / "sink.db"), Lives(tmp_path)
    writing = [Writing(logs, name, seed, table, lives) for seed, name in enumerate(LOGS)]
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or lives.kills < KILLS:
        time.sleep(random.choice([0.0, 0.3, 1.0, 2.0, 4.0]))
        lives.kill()
    for one in writing:
        one.finish()
    for one in writing:
        table.wait_for(one.name, one.writer.written)
    time.sleep(1.0)  # what would come twice would come now
    lives.end()
    for one in writing:
        found = table.found(one.name)
        doubled = sorted(number for number, times in found.items() if times > 1)
        assert not doubled, f"{one.name}: {len(doubled)} lines came twice, first {doubled[:5]}"
        assert sorted(found) == one.writer.written
        assert len(one.writer.written) > 500
    acts = Counter(act for one in writing for act in one.writer.told)
    print(f"\n{lives.kills} kills, {sum(len(one.writer.written) for one in writing)} lines, {dict(acts)}")
