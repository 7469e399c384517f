"""How long an operator with 100 MB of state stands still for a snapshot, and how fast it is back after a crash.

Takes snapshots of 25 buffers of 4 MB that every item changes, into an SQLite store on this disk, while items keep
coming. The recovery is measured in a fresh process: from opening the store to the first item applied, imports of
Python apart. Half of the state compresses well and half not at all, as counters and measurements do.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint.operators import Flow, FlowSettings, Graph, Item, Link
from holdfast.checkpoint.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators import Offset

BUFFERS, BUFFER_SIZE, SNAPSHOTS = 25, 4_000_000, 50
GRAPH = Graph((Link("in", "source", "correlator"),))


class Correlator:
    """An operator with large state that every item touches."""

    def __init__(self) -> None:
        half = BUFFER_SIZE // 2
        self.buffers = [bytearray(os.urandom(half) + bytes(half)) for _ in range(BUFFERS)]
        self.first_item_at = 0.0

    def apply(self, item: Item[int]) -> list[object]:
        """Change one byte."""
        self.buffers[item.seq % BUFFERS][item.seq % BUFFER_SIZE] ^= 0xFF
        self.first_item_at = self.first_item_at or time.perf_counter()
        return []

    def snapshot(self) -> Sequence[bytearray]:
        """The live buffers."""
        return self.buffers

    def restore(self, buffers: Sequence[memoryview]) -> None:
        """Take the buffers over."""
        self.buffers = [bytearray(buffer) for buffer in buffers]


class Ticking:
    """Gives an item every millisecond until told to stop."""

    def __init__(self) -> None:
        self.stopped = False

    async def read(self, after: Offset | None) -> AsyncGenerator[tuple[int, Offset], None]:
        """Numbers, from the one behind `after`."""
        assert after is None or isinstance(after, int)
        number = after or 0
        while not self.stopped:
            number += 1
            yield number, number
            await asyncio.sleep(0.001)


async def opened(store: CheckpointStore, operator: Correlator) -> Flow:
    settings = FlowSettings(cadence=0.05)
    epoch = store.take_over()
    return await Flow.recover(
        "bench", GRAPH, operators={"correlator": operator}, store=store, epoch=epoch, settings=settings
    )


async def save(path: Path, snapshots: int) -> Iterator[tuple[str, float]]:
    """Run until so many snapshots are written, and give the figures."""
    with SqliteStore(path) as store:
        flow, source = await opened(store, Correlator()), Ticking()
        running = asyncio.create_task(flow.run({"source": source}))
        while flow.health()[0].snapshots_written < snapshots and not running.done():
            await asyncio.sleep(0.01)
        source.stopped = True
        await running
        operator = flow.operators["correlator"]
        pauses, writes = operator.pauses, operator.write_durations
        return iter(
            [
                ("pause_p50", pauses.p50 * 1000),
                ("pause_p99", pauses.p99 * 1000),
                ("pause_longest", pauses.longest * 1000),
                ("write_p50", writes.p50 * 1000),
                ("write_p99", writes.p99 * 1000),
            ]
        )


async def come_back(path: Path) -> float:
    """Milliseconds from opening the store to the first item applied, which a fresh process prints."""
    operator, source = Correlator(), Ticking()
    started = time.perf_counter()
    with SqliteStore(path) as store:
        flow = await opened(store, operator)
        running = asyncio.create_task(flow.run({"source": source}))
        while not operator.first_item_at:
            await asyncio.sleep(0)
        source.stopped = True
        await running
    return (operator.first_item_at - started) * 1000


def recovery(path: Path) -> float:
    command = [sys.executable, __file__, "--recover", str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run(snapshots: int = SNAPSHOTS) -> Iterator[dict[str, object]]:
    """The figures, one after the other."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "checkpoints.db"
        figures = [*asyncio.run(save(path, snapshots)), ("recovery_100mb", recovery(path))]
    for figure, value in figures:
        yield {"bench": "operator_pause", "figure": figure, "value": round(value, 1), "unit": "ms"}


def main() -> None:
    if sys.argv[1:2] == ["--recover"]:
        print(asyncio.run(come_back(Path(sys.argv[2]))))
        return
    size = BUFFERS * BUFFER_SIZE // 1_000_000
    print(f"{SNAPSHOTS} snapshots of {size} MB of state into an SQLite store (targets: p99 < 200 ms, recovery < 5 s)")
    figures = list(run())
    for figure in figures:
        print(f"  {figure['figure']:15} {figure['value']:>10} {figure['unit']}")
    for figure in figures:
        print(json.dumps(figure))


if __name__ == "__main__":
    main()
