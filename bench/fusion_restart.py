"""What fusion needs after a restart before it has judged its first batch, when it remembers a hundred megabytes.

A process of its own begins with nothing: it reads the catalog and the state, and judges a batch. Spark is not in it;
what starting Spark takes is told by `restart`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from bench._fusion_feed import LOGS, Sky
from meridian.fusion.contributions import Contributions
from meridian.fusion.saved import packed, restored, saved, unpacked
from meridian.fusion.spark import parts_of, seen_in
from meridian.fusion.state import Seen
from meridian.fusion.windows import Windows
from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.assembling import FromHome
from meridian.operation.foreseeing import foresee
from meridian.operation.home import Home
from meridian.sensors import SourceKind, events_of

OBJECTS, SIZE = 45_000, 100 * 10**6
SLICES, ROWS, FIRST_BATCH = 5, 200_000, 20_000
"""Slices of time that are still open, observations in each, and those of the batch that comes first."""
_STATE, _BATCH = "state.npz", "batch.npz"
_DOCUMENT = {"horizon_hours = 3.0": "horizon_hours = 0.1", "screening_km = 20.0": "screening_km = 5.0"}
"""Looks less far ahead than usual: to foresee so many objects would take most of the time of the benchmark."""


def run() -> Iterator[dict[str, object]]:
    """The size of the state, and the seconds it takes."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        size = _left_behind(directory)
        print(f"bench: fusion_restart: a state of {size / 1e6:.0f} MB", flush=True)
        began = time.perf_counter()
        answer = subprocess.run(
            [sys.executable, "-m", "bench.fusion_restart", scratch], check=True, capture_output=True
        ).stdout
        whole = time.perf_counter() - began
        spent = json.loads(answer)
    assert size >= SIZE, f"a state of {size} bytes"
    yield {"bench": "fusion_restart", "figure": "state", "value": round(size / 1e6), "unit": "MB"}
    yield {"bench": "fusion_restart", "figure": "first_batch_judged", "value": round(whole, 2), "unit": "s", **spent}


def _left_behind(directory: Path) -> int:
    """A home with a state and a batch that comes behind it; the size of the state."""
    home, now = Home(directory), time.time_ns()
    prepare(home, now_ns=now, others=OBJECTS - OURS)
    document = home.document_file.read_text()
    for usual, smaller in _DOCUMENT.items():
        document = document.replace(usual, smaller)
    home.document_file.write_text(document)
    assembly = FromHome.of(home)
    foresee(home, assembly, told=lambda line: print(f"bench: fusion_restart: {line}", flush=True))
    parts, sky, random = parts_of(assembly), Sky.of(home), np.random.default_rng(1)
    state, after = parts.before_anything, now
    for _ in range(SLICES):
        state, _ = state.after(_seen(sky, parts.contributions, after, ROWS, random))
        after += Windows().size
    (directory / _STATE).write_bytes(saved(state))
    (directory / _BATCH).write_bytes(packed(_seen(sky, parts.contributions, after, FIRST_BATCH, random)))
    return (directory / _STATE).stat().st_size


def _seen(sky: Sky, contributions: Contributions, start: int, count: int, random: np.random.Generator) -> Seen:
    shares = {SourceKind.RADAR: 0.9, SourceKind.INTER_SATELLITE_LINK: 0.1}
    pieces = {kind: sky.piece(kind, start, round(count * share), random) for kind, share in shares.items()}
    return seen_in((events_of(piece, LOGS[kind]) for kind, piece in pieces.items()), contributions)


def begin_again(directory: Path) -> dict[str, float]:
    """Read the state and judge the batch; what took how long, in seconds."""
    times = [time.perf_counter()]
    parts = parts_of(FromHome.of(Home(directory)))
    times.append(time.perf_counter())
    state = restored((directory / _STATE).read_bytes(), parts.before_anything)
    times.append(time.perf_counter())
    seen = unpacked((directory / _BATCH).read_bytes())
    state, news = state.after(seen)
    content = saved(state)
    rows = list(parts.rows.of(state, news, seen.figures, state_bytes=len(content)))
    assert rows
    times.append(time.perf_counter())
    steps = ("catalog", "state", "batch")
    return {step: round(end - start, 2) for step, (start, end) in zip(steps, pairwise(times), strict=True)}


if __name__ == "__main__":
    print(json.dumps(begin_again(Path(sys.argv[1]))))
