"""Logs that are rotated, truncated, removed and begun anew at random, followed by a process that is killed at random.

The writers know every line they wrote, and the table is read with sqlite3 only: each line must be in it exactly once.
"""

from __future__ import annotations

import multiprocessing
import os
import re
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

    from tests.support.notes import Note

SECONDS, KILLS = 60, 20
LOGS = ("app.log", "db.log", "web.log")
LINE = re.compile(r"([a-z]+\.log) (\d+) x* \.")
ACTS = {
    *("write", "rotate", "rotate_late", "copy_and_truncate", "compress", "truncate", "recreate", "remove_oldest"),
    "_remove_unread",
}
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
        self.foreign: list[str] = []
        """What nobody wrote."""

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

    def wait_for_more(self) -> None:
        """Wait until anything comes that was not there before, or for a while."""
        with self._lock:
            before = self._last
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            with self._lock:
                self._read_on()
                if self._last > before:
                    return
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
            if written := LINE.fullmatch(line):
                self._found[written[1]][int(written[2])] += 1
            else:
                self.foreign.append(line)


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
        self.writer = LogWriter(
            directory,
            name,
            self._random,
            wait_for=lambda lines: table.wait_for(name, lines),
            pause=lambda: time.sleep(self._random.uniform(0, 0.3)),
        )
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
            for act in self._random.sample([*self.writer.acts(), self._remove_unread], len(ACTS)):
                self.writer.do(act)
            while not self._stop.wait(self._random.uniform(0, 0.04)):
                self.writer.act()
                if self._random.random() < 0.01:
                    self.writer.do(self._remove_unread)
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
def test_every_line_arrives_exactly_once(tmp_path: Path, note: Note) -> None:
    random = Random(20260101)
    logs = tmp_path / "logs"
    logs.mkdir()
    table, lives = Table(tmp_path / "sink.db"), Lives(tmp_path)
    writing = [Writing(logs, name, seed, table, lives) for seed, name in enumerate(LOGS)]
    until = time.monotonic() + SECONDS
    while time.monotonic() < until or lives.kills < KILLS:
        if random.random() < 2 / 3:
            table.wait_for_more()
        time.sleep(random.uniform(0, 2))
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
    assert not table.foreign
    acts = Counter(act for one in writing for act in one.writer.told)
    assert set(acts) == ACTS
    note(f"{lives.kills} kills, {sum(len(one.writer.written) for one in writing)} lines, {dict(acts)}")
