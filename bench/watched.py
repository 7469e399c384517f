"""What it costs a loaded pipeline to be looked at: `top`, `tap` and `status` in a loop, beside nobody looking.

One pipeline goes as fast as it can over an inbox that was filled before. While it does, stretches in which nobody looks
take turns with stretches in which three people do: one has `top` open, one asks for `status` every second and one for a
few rows with `tap` every second, each command a process of its own, as typed. When a batch was delivered is read
from the time stamps of the files afterwards, so the measuring itself looks at nothing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from threading import Event, Thread

from bench.pipeline import QUERY, filled, when

ROWS, BATCHES = 2000, 3000
WARM, STRETCH, TURNS = 20.0, 20.0, 6
"""Seconds until it is warm, seconds of a stretch, and how often nobody and everybody looks."""
EVERY = 1.0
WITHIN = 120.0

DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {{name: watched}}
spec:
  directory: {root}/pipeline
  source: {{type: generator, name: orders, events: {events}}}
  process:
    - sql: {query}
  batch: {{max_events: {rows}}}
  sinks:
    - {{name: files, type: files, directory: {root}/out}}
"""


def run() -> Iterator[dict[str, object]]:
    """Rows a second with everybody looking, beside nobody."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        document, waited = root / "watched.yaml", list[float]()
        document.write_text(DOCUMENT.format(root=root, events=ROWS * BATCHES, query=QUERY, rows=ROWS))
        filled(root / "pipeline" / "inbox" / "orders", ROWS * BATCHES).close()
        with running(document, root / "log"):
            stretches = taking_turns(root, document, waited)
        delivered = sorted(path.stat().st_mtime for path in (root / "out").rglob("*.parquet"))
    rates = {looked: mean(rate(delivered, *stretch) for stretch in of) for looked, of in stretches.items()}
    yield {
        "bench": "watched",
        "figure": "rows_a_second_with_top_tap_and_status_in_a_loop",
        "value": round(rates[True]),
        "unit": "rows/s",
        "peer": f"nobody looks: {rates[False]:.0f} rows/s",
        "ratio": round(rates[True] / rates[False], 3),
    }
    yield {
        "bench": "watched",
        "figure": "status_answers_beside_the_load",
        "value": round(median(waited), 2),
        "unit": "s",
        "slowest": round(max(waited), 2),
    }


def taking_turns(root: Path, document: Path, waited: list[float]) -> dict[bool, list[tuple[float, float]]]:
    """When nobody looked and when everybody did, from and until."""
    when(lambda: any((root / "out").rglob("*.parquet")))
    time.sleep(WARM)
    stretches: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for turn in range(TURNS):
        for looked in (False, True) if turn % 2 else (True, False):  # so that neither is always the later one
            began = time.time()
            if looked:
                with looking(document, waited):
                    time.sleep(STRETCH)
            else:
                time.sleep(STRETCH)
            stretches[looked].append((began, time.time()))
        print(f"bench: watched, turn {turn + 1} of {TURNS}", flush=True)
    return stretches


def rate(delivered: list[float], began: float, ended: float) -> float:
    """Rows a second between the first and the last delivery of a stretch."""
    within = [at for at in delivered if began <= at <= ended]
    return ROWS * (len(within) - 1) / sum(after - before for before, after in pairwise(within))


@contextmanager
def running(document: Path, log: Path) -> Iterator[None]:
    """The pipeline, in a process of its own, whose lines go to a file."""
    with log.open("wb") as lines:
        process = subprocess.Popen(command("run", document), stdout=lines, stderr=lines)
    try:
        yield
        if process.poll() is not None:
            raise RuntimeError(
                f"The pipeline has ended before it was measured. Its last lines: {log.read_text()[-2000:]}"
            )
    finally:
        process.terminate()
        process.wait(WITHIN)


@contextmanager
def looking(document: Path, waited: list[float]) -> Iterator[None]:
    """`top` open, `status` and `tap` again and again, each a process.

    :param waited: is given how long each `status` took, in seconds.
    """
    over = Event()

    def again(*words: str) -> None:
        while not over.is_set():
            began = time.monotonic()
            subprocess.run(command(*words), stdout=subprocess.DEVNULL, check=True)
            if words[0] == "status":
                waited.append(time.monotonic() - began)
            over.wait(EVERY)

    top = subprocess.Popen(command("top", document, "--times", "1000"), stdout=subprocess.DEVNULL)
    people = [Thread(target=again, args=(name, str(document), "--output", "json")) for name in ("status", "tap")]
    for person in people:
        person.start()
    try:
        yield
    finally:
        over.set()
        top.terminate()
        top.wait(WITHIN)
        for person in people:
            person.join()


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "holdfast.cli", *map(str, words)]
