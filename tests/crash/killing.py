"""A loaded pipeline in Spark under faults that a seed chooses, reconciled from outside.

The pipeline is `holdfast run` on a document. A log is written and rotated all the time; its lines go to Parquet files
and a table of SQLite. When the fault ended the process, it is started again with the same command. After all other
faults the same process must go on by itself.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections import Counter
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.crash.command import Command
from tests.crash.faults import Fault, strike
from tests.crash.lines import NumberedLines
from tests.support.command_line import ROOT, holdfast
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_disks import Ballast
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ROOT", "Campaign", "wait_for_group_to_end"]

DISK = "192M"
RATE, ROTATE_AT = 1000, 20_000
PATIENCE = 300.0
"""Seconds until what was written before or during a fault is delivered."""
_FIRST = 2
"""A line that is delivered only when Spark has finished a batch."""

DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: lines}
spec:
  directory: pipeline
  source: {type: files, name: lines, paths: ["logs/app.log*"]}
  process:
    - sql: SELECT seq, source, event_id, CAST(CAST(payload AS STRING) AS BIGINT) AS n FROM events
"""
STATELESS = (
    DOCUMENT
    + """\
    - sql: SELECT * FROM events WHERE n % 10 <> 0
  batch: {max_events: 10000, max_ms: 50}
  sinks:
    - {name: archive, type: files, directory: files, max_inflight: 3}
    - {name: table, type: sqlite, path: sink.db, table: orders}
"""
)
STATEFUL = (
    DOCUMENT
    + """\
    - sql: SELECT n % 7 AS region, count(*) AS orders, sum(n) AS total, max(seq) AS seq FROM events GROUP BY n % 7
  output_mode: update
  batch: {max_events: 10000, max_ms: 50}
  sinks:
    - {name: table, type: sqlite, path: sink.db, table: totals, upsert: {key: [region]}}
"""
)
NEWEST = {STATELESS: "SELECT max(n) FROM orders", STATEFUL: "SELECT sum(orders) FROM totals"}


class Campaign:
    """One pipeline, and all that happens to it.

    :param may_fill_disk: whether a full disk is among the faults, for which a small one has to be mounted.
    """

    def __init__(
        self, directory: Path, *, seed: int, document: str = STATELESS, rate: int = RATE, may_fill_disk: bool = True
    ) -> None:
        self._directory = directory
        self._document = document
        self._random = Random(seed)
        self._rate = rate
        self._may_fill_disk = may_fill_disk
        self._command: Command | None = None
        self._slowest = 0.0

    def run(self, faults: Sequence[Fault]) -> str:
        """Let these faults happen, compare, and tell what happened. Raises when the sinks are not exact."""
        lines = self.play(faults)
        expected = [n for n in range(1, lines + 1) if n % 10]
        assert table_numbers(self._directory / "sink.db") == expected, "the table is not exact"
        assert file_numbers(self._directory / "files") == expected, "the files are not exact"
        counted = ", ".join(f"{count} x {fault.value}" for fault, count in Counter(faults).items())
        return (
            f"{len(faults)} faults while {lines:,} lines were written: {counted}. Where the process lived it went on "
            f"by itself, and where not the same command was started again; the slowest recovery took "
            f"{self._slowest:.0f} s. {len(expected):,} rows in each sink: none lost, none doubled, all in order."
        )

    def play(self, faults: Sequence[Fault]) -> int:
        """Let these faults happen, then let it deliver everything and drain. How many lines there were."""
        (self._directory / "logs").mkdir(parents=True)
        (self._directory / "pipeline.yaml").write_text(self._document)
        with ExitStack() as stack:
            if self._may_fill_disk:
                stack.enter_context(small_disk(self._directory / "pipeline", DISK))
            lines = NumberedLines(self._directory / "logs" / "app.log", rate=self._rate, rotate_at=ROTATE_AT)
            stack.callback(lines.finish)
            self._command = Command(self._directory)
            stack.callback(lambda: self._running.kill())
            for number, fault in enumerate(faults, 1):
                told = self._happened(fault, lines)
                print(f"crash: {number} of {len(faults)}: {fault.value}; {told}", flush=True)
            written = lines.finish()
            self._wait_for_row(self._last_row(written))
            self._check_status()
            assert self._running.stop() == 0, self._last_words()
        return written

    def choose(self, count: int) -> list[Fault]:
        """So many faults: all there are in random order, again and again."""
        possible = [fault for fault in Fault if self._may_fill_disk or not fault.fills_disk]
        rounds = -(-count // len(possible))
        return [fault for _ in range(rounds) for fault in self._random.sample(possible, len(possible))][:count]

    def _happened(self, fault: Fault, lines: NumberedLines) -> str:
        """One fault, and what came of it."""
        is_early = self._random.random() < 1 / 3
        if fault is Fault.JVM_ON_FULL_DISK:
            is_early = False  # a start on a full disk waits for room, and there is no JVM to kill
        if is_early:
            time.sleep(self._random.uniform(0, 10))
        else:
            self._wait_for_row(max(lines.written - self._rate, _FIRST))
            time.sleep(self._random.uniform(0, 3))
        when = "at any moment" if is_early else "under load"
        before, began = self._running.pid, time.monotonic()
        with self._disk_filled(fault):
            strike(fault, self._running, self._random)
            if fault.ends_process:
                self._running.wait_dead()
                self._command = Command(self._directory)
        if fault.ends_process and self._random.random() < 1 / 3:
            return f"{when}, started again as process {self._running.pid}"
        self._wait_for_row(lines.written)
        took = time.monotonic() - began
        self._slowest = max(self._slowest, took)
        assert self._running.pid == before or fault.ends_process
        how = f"process {self._running.pid} after a new start" if fault.ends_process else "the same process"
        return f"{when}, delivered again after {took:.1f} s by {how}; {self._newest():,} of {lines.written:,} lines"

    @contextmanager
    def _disk_filled(self, fault: Fault) -> Iterator[None]:
        """The disk is full, also when something on it is removed, and so for a while before and after."""
        if not fault.fills_disk:
            yield
            return
        self._keep_full(self._random.uniform(0, 5))
        yield
        self._keep_full(self._random.uniform(2, 10)).remove()

    def _keep_full(self, seconds: float) -> Ballast:
        until = time.monotonic() + seconds
        while True:
            ballast = Ballast(self._directory / "pipeline")
            if time.monotonic() > until:
                return ballast
            time.sleep(0.5)

    def _last_row(self, lines: int) -> int:
        """What the table says when all lines are delivered."""
        return lines - (self._document == STATELESS and lines % 10 == 0)

    def _wait_for_row(self, row: int) -> None:
        """Wait until the line of this number is delivered, or one close behind it."""
        deadline = time.monotonic() + PATIENCE
        while (newest := self._newest()) < row - 1:
            assert self._running.is_running, f"the pipeline ended by itself: {self._last_words()}"
            assert time.monotonic() < deadline, f"stuck at line {newest:,} of {row:,}: {self._last_words()}"
            time.sleep(0.05)

    def _check_status(self) -> None:
        """The status agrees: the process that runs the pipeline is ours, and it is well."""
        status = holdfast("status", "pipeline", "--output", "json", directory=self._directory).json
        assert status["snapshot"]["pid"] == self._running.pid
        assert status["snapshot"]["state"] == "running", json.dumps(status["health"])

    def _newest(self) -> int:
        """How many lines are delivered, as the table tells."""
        path = self._directory / "sink.db"
        if not path.exists():
            return 0
        with closing(sqlite3.connect(path, timeout=30)) as db:
            try:
                return int(db.execute(NEWEST[self._document]).fetchone()[0] or 0)
            except sqlite3.OperationalError:
                return 0  # the table is not there yet

    @property
    def _running(self) -> Command:
        assert self._command is not None
        return self._command

    def _last_words(self) -> str:
        return (self._directory / "run.log").read_text(errors="replace")[-2000:]


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
