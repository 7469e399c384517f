"""A burst in real time: ten times what radars usually send, for five minutes, through fusion as an operation runs it.

The way into fusion leaves out what says little when fusion falls behind. Told is how much that was by priority, whether
what is held in memory stops growing, and how long alerts take meanwhile.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from bench._fusion_run import LEFT_OUT
from bench.fusion import OBJECTS, Fed, Readings, started, watched
from bench.steady import memory
from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.assembling import FromHome
from meridian.operation.foreseeing import foresee
from meridian.operation.home import Home

USUAL, FACTOR = 5_000, 10
WARM, BURST, AFTER = 60, 300, 30
"""Seconds at the usual rate, in the burst, and at the usual rate again."""
_SETTLED = 30
"""So many seconds into the burst memory may have grown."""


def run() -> Iterator[dict[str, object]]:
    """What was left out, what was held, and how long alerts took."""
    with tempfile.TemporaryDirectory() as scratch:
        yield from played(Path(scratch))


def played(directory: Path) -> Iterator[dict[str, object]]:
    home, readings, held = Home(directory), Readings(directory), list[tuple[float, int]]()
    prepare(home, now_ns=time.time_ns(), others=OBJECTS - OURS)
    foresee(home, FromHome.of(home))
    stretches = (USUAL, WARM, USUAL * FACTOR, BURST, USUAL, AFTER)
    with started("bench._fusion_feed", directory, *stretches) as feed:
        assert feed.stdout is not None
        assert feed.stdin is not None
        feed.stdout.readline()
        print(f"bench: burst: {USUAL * FACTOR:,} observations a second for {BURST} s", flush=True)
        with started("bench._fusion_run", directory, "most") as fusion:
            threading.Thread(target=weighed, args=(fusion, held), daemon=True).start()
            feed.stdin.write(b"\n")
            feed.stdin.flush()
            began = time.monotonic()
            watched(readings, feed)
    left_out = json.loads((directory / LEFT_OUT).read_text())
    alerts = Fed.after(directory, WARM).delays(readings.words)
    yield from figures(began, held, left_out, alerts)


def weighed(process: subprocess.Popen[bytes], held: list[tuple[float, int]]) -> None:
    """Note what fusion holds in memory, once a second, until it has ended."""
    while process.poll() is None:
        held.append((time.monotonic(), sum(memory(process.pid))))
        time.sleep(1)


def figures(
    began: float, held: list[tuple[float, int]], left_out: dict[str, int], alerts: np.ndarray
) -> Iterator[dict[str, object]]:
    early, late = (
        median(size for at, size in held if began + WARM + start <= at < began + WARM + stop) / 2**20
        for start, stop in ((_SETTLED, 2 * _SETTLED), (BURST - _SETTLED, BURST))
    )
    assert left_out["high"] == 0, f"{left_out['high']} observations of high priority were left out"
    sent = USUAL * (WARM + AFTER) + USUAL * FACTOR * BURST
    yield {
        "bench": "burst",
        "figure": "observations_judged",
        "value": sent - left_out["low"],
        "unit": "observations",
        "left_out": f"{left_out['low']} of low priority, {left_out['high']} of high",
    }
    yield {
        "bench": "burst",
        "figure": "memory_late_in_the_burst",
        "value": round(late),
        "unit": "MiB",
        "peer": f"{_SETTLED} s into it: {early:.0f} MiB",
        "ratio": round(late / early, 2),
    }
    yield {"bench": "burst", "figure": "alert_p99", "value": round(float(np.percentile(alerts, 99)), 2), "unit": "s"}
