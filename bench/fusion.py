"""Fusion with windows of 30 seconds under a steady load: how long after the watermark has passed the outputs say so.

A process of its own makes what radars, telescopes and satellites would send and appends it to the logs of an edge, a
piece every tenth of a second; another runs fusion on Spark over these logs into its tables. The clock starts when the
piece is durable with which the watermark of all networks passes a time, and stops when a row that was made with such a
watermark can be read from its table. That is the delay of whatever ends at that time. Beside it stand the windows that
were closed, from then until the summary of the window can be read; and the words on alerts, from when the observation
that caused one was durable until the word can be read.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench._fusion_feed import FED, PIECE
from meridian.fusion.outputs import PROGRESS, SUMMARIES, WORDS, place
from meridian.fusion.windows import SECOND
from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.assembling import FromHome
from meridian.operation.foreseeing import foresee
from meridian.operation.home import Home

OBJECTS = 2_000
RATES = (10_000, 50_000)
WARM, MEASURED = 60, 180
"""Seconds that are fed before what counts, and that count."""
_POLL = 0.02
_SETTLING = 60.0


@dataclass
class Readings:
    """When which watermark was first seen in the tables."""

    directory: Path
    marks: list[tuple[int, int]] = field(default_factory=list)
    """When, and how far, by the rows of batches."""
    closed: dict[int, int] = field(default_factory=dict)
    """When the summary of a window was there, by its end."""
    words: list[tuple[int, int]] = field(default_factory=list)
    """When a word was there, and the time of the observation that caused it."""
    _last_word: int = 0

    def look(self) -> None:
        """Note what is new in the tables."""
        now = time.time_ns()
        mark = self._asked(PROGRESS.table, "SELECT max(watermark_ns) FROM progress")
        if mark and mark[0][0] is not None and (not self.marks or mark[0][0] > self.marks[-1][1]):
            self.marks.append((now, mark[0][0]))
        for (end,) in self._asked(SUMMARIES.table, "SELECT window_end_ns FROM summaries"):
            if end is not None:
                self.closed.setdefault(end, now)
        newer = f"SELECT rowid, caused_ns FROM words WHERE rowid > {self._last_word} ORDER BY rowid"
        for number, caused in self._asked(WORDS, newer):
            self._last_word = number or 0
            if caused is not None:
                self.words.append((now, caused))

    def _asked(self, table: str, query: str) -> list[tuple[int | None, ...]]:
        try:
            with closing(sqlite3.connect(f"file:{place(self.directory, table)}?mode=ro", uri=True, timeout=5)) as db:
                return db.execute(query).fetchall()
        except sqlite3.OperationalError:  # not there yet
            return []


def run() -> Iterator[dict[str, object]]:
    """The delay at both rates."""
    for rate in RATES:
        with tempfile.TemporaryDirectory() as scratch:
            yield from measured(Path(scratch), rate)


def measured(directory: Path, rate: int) -> Iterator[dict[str, object]]:
    home, seconds = Home(directory), WARM + MEASURED
    prepare(home, now_ns=time.time_ns(), others=OBJECTS - OURS)
    foresee(home, FromHome.of(home))
    readings = Readings(directory)
    with started("bench._fusion_feed", directory, rate, seconds) as feed:
        assert feed.stdout is not None
        assert feed.stdin is not None
        feed.stdout.readline()
        print(f"bench: fusion: {rate:,} observations a second for {seconds} s", flush=True)
        with started("bench._fusion_run", directory, "all"):
            feed.stdin.write(b"\n")
            feed.stdin.flush()
            watched(readings, feed)
    yield from figures(rate, readings, Fed.after(directory, WARM))


def watched(readings: Readings, feed: subprocess.Popen[bytes]) -> None:
    """Look until everything that was fed has been told of."""
    fed_at: float | None = None
    while fed_at is None or time.monotonic() < fed_at + _SETTLING:
        time.sleep(_POLL)
        readings.look()
        if fed_at is None and feed.poll() is not None:
            fed_at = time.monotonic()
        if fed_at is not None and (readings.directory / FED).exists():
            with np.load(readings.directory / FED) as fed:
                if readings.marks and readings.marks[-1][1] >= fed["marks"][-1]:
                    return
    raise AssertionError("fusion did not come to the end of what was fed")


@dataclass(frozen=True)
class Fed:
    """What was fed, by pieces: when, the watermark behind each, and the newest time in it."""

    at: np.ndarray
    marks: np.ndarray
    newest: np.ndarray

    @classmethod
    def after(cls, directory: Path, seconds: int) -> Fed:
        """What was fed after so many seconds."""
        with np.load(directory / FED) as fed:
            return cls(*(fed[name][seconds * SECOND // PIECE :] for name in ("at", "marks", "newest")))

    def delays(self, words: list[tuple[int, int]]) -> np.ndarray:
        """How long after the observation behind them was durable words could be read, in seconds."""
        seen, caused = np.array(words, np.int64).reshape(-1, 2).T
        counts = (caused > self.newest[0]) & (caused <= self.newest[-1])
        delays: np.ndarray = (seen[counts] - self.at[np.searchsorted(self.newest, caused[counts])]) / SECOND
        return delays


def figures(rate: int, readings: Readings, fed: Fed) -> Iterator[dict[str, object]]:
    seen_at, seen = (np.array(column) for column in zip(*readings.marks, strict=True))
    delays, alerts = (seen_at[np.searchsorted(seen, fed.marks)] - fed.at) / SECOND, fed.delays(readings.words)
    ends = [end for end in readings.closed if fed.marks[0] < end <= fed.marks[-1]]
    closings = [(readings.closed[end] - int(fed.at[np.searchsorted(fed.marks, end)])) / SECOND for end in ends]
    print(f"bench: fusion: {len(closings)} windows closed, {len(alerts)} words", flush=True)
    yield figure(f"emission_p50_at_{rate}", float(np.percentile(delays, 50)))
    yield figure(f"emission_p99_at_{rate}", float(np.percentile(delays, 99)))
    yield figure(f"slowest_of_{len(closings)}_windows_at_{rate}", max(closings))
    yield figure(f"alert_p99_at_{rate}", float(np.percentile(alerts, 99)))


def figure(name: str, seconds: float) -> dict[str, object]:
    return {"bench": "fusion", "figure": name, "value": round(seconds, 2), "unit": "s"}


@contextmanager
def started(module: str, *words: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a benchmark, ended in order."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
