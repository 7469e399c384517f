"""Whether a pipeline costs the same at its four thousandth batch as at its first hundreds, in time and in memory.

Batches of 2,000 orders through Spark into Parquet, as fast as they go, for more than ten minutes. They lie in
the inbox before it starts, so nothing but the pipeline takes time. Each figure compares a stretch late in the run with
one early in it, after the first hundred batches. The memory is that of the pipeline's process, and of Spark's JVM with
its Python workers, as the system counts it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from bench.pipeline import MASTER, QUERY, filled
from holdfast import BatchLimits, Files, Generator, Pipeline, SparkSettings, sql

ROWS, BATCHES = 2000, 4500
EARLY, LATE = slice(100, 300), slice(BATCHES - 200, BATCHES)
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Moment:
    """When a batch was delivered, and how much memory was held then."""

    at: float
    own: int
    spark: int


def run() -> Iterator[dict[str, object]]:
    """Time a batch and memory, late beside early."""
    with tempfile.TemporaryDirectory() as scratch:
        moments = delivered(Path(scratch))
    gaps = [after.at - before.at for before, after in pairwise(moments)]
    yield beside("batch_late_in_the_run", median(gaps[LATE]) * 1000, median(gaps[EARLY]) * 1000, "ms")
    for name in ("own", "spark"):
        sizes = [getattr(moment, name) / 2**20 for moment in moments]
        yield beside(f"memory_{name}_late_in_the_run", median(sizes[LATE]), median(sizes[EARLY]), "MiB")
    yield {"bench": "steady", "figure": "run", "value": round(moments[-1].at - moments[0].at), "unit": "s"}


def delivered(root: Path) -> list[Moment]:
    """Run the pipeline; the moment of each delivery."""
    filled(root / "pipeline" / "inbox" / "orders", ROWS * BATCHES).close()
    whole = (
        Pipeline("steady", directory=root / "pipeline")
        .read(Generator(events=ROWS * BATCHES))
        .process(sql(QUERY))
        .write(Files(root / "out"))
        .batch(BatchLimits(max_events=ROWS))
        .spark(SparkSettings(master=MASTER))
    )
    whole.start()
    moments: list[Moment] = []
    try:
        while len(moments) < BATCHES:
            cursor = whole.engine.delivery.status().lanes["files"].cursor
            if cursor > len(moments):
                own, spark = memory()
                moments += [Moment(time.perf_counter(), own, spark)] * (cursor - len(moments))
                if cursor % 200 == 0:
                    print(f"bench: steady, {cursor} of {BATCHES} batches", flush=True)
            time.sleep(0.005)
    finally:
        whole.drain()
        shutil.rmtree(root / "out")
    return moments


def memory(of: int | None = None) -> tuple[int, int]:
    """Bytes that a process holds, this one unless another is named, and bytes that all its descendants hold."""
    root = os.getpid() if of is None else of
    parents: dict[int, list[int]] = {}
    resident: dict[int, int] = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents.setdefault(int(fields[1]), []).append(int(directory.name))
        resident[int(directory.name)] = int(fields[21]) * PAGE
    below = list(parents.get(root, []))
    for process in below:
        below += parents.get(process, [])
    return resident[root], sum(resident[process] for process in below)


def beside(name: str, late: float, early: float, unit: str) -> dict[str, object]:
    return {
        "bench": "steady",
        "figure": name,
        "value": round(late, 1),
        "unit": unit,
        "peer": f"early in the run: {early:.1f} {unit}",
        "ratio": round(late / early, 2),
    }


if __name__ == "__main__":
    for line in run():
        print(line)
