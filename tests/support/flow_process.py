"""A graph with state as a process of its own that ends itself with SIGKILL at a named step.

    python -m tests.support.flow_process PLACE STORE [STEP COUNT]

where STORE is `sqlite` or `file`. Numbers come from a source that can be read again; an operator emits the sum of all
numbers so far; a sink writes number and sum outside, in a table without unique columns.
"""

from __future__ import annotations

import asyncio
import sqlite3
import struct
import sys
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

from holdfast.checkpoint.contract import CheckpointStore
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.operators import FlowSettings, StateKeeper
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.flow import FROM_SOURCE, AllOk, Inlet, OperatorGraph, Outlet, Stop
from tests.support.operator_process import Fate

NUMBERS = range(1, 201)
Summed = tuple[int, int]


class RunningSum:
    """The sum of what was added."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, number: int) -> int:
        self.total += number
        return self.total

    def snapshot(self) -> Sequence[bytes]:
        return [struct.pack("<q", self.total)]

    def restore(self, buffers: Sequence[memoryview]) -> None:
        (self.total,) = struct.unpack("<q", buffers[0])


def counting(after: int) -> Callable[[Outlet[int], Stop], Coroutine[None, None, None]]:
    async def run(outlet: Outlet[int], stop: Stop) -> None:
        for number in NUMBERS[after:]:
            await outlet.send([number])
            await asyncio.sleep(0.001)

    return run


def summing(
    state: RunningSum, keeper: StateKeeper, fate: Fate
) -> Callable[[Inlet[int], Outlet[Summed]], Coroutine[None, None, None]]:
    async def run(inlet: Inlet[int], outlet: Outlet[Summed]) -> None:
        async for batch in inlet:
            with keeper.change(batch[-1]):
                sums = [(number, state.add(number)) for number in batch]
                fate("state.changed")
                await outlet.send(sums)
        await keeper.close()

    return run


def writing(db: sqlite3.Connection, fate: Fate) -> Callable[[Inlet[Summed]], Coroutine[None, None, None]]:
    async def run(inlet: Inlet[Summed]) -> None:
        async for batch in inlet:
            db.executemany("INSERT INTO sums VALUES (?, ?)", batch)
            fate("outside.written")

    return run


async def live(place: Path, store: CheckpointStore, fate: Fate) -> None:
    state = RunningSum()
    settings = FlowSettings(cadence=0.005, hook=fate)
    keeper = await StateKeeper.recover("sum", state, store=store, epoch=store.take_over(), settings=settings)
    assert keeper.offset is None or isinstance(keeper.offset, int)
    db = sqlite3.connect(place / "sums.db", isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")  # the process dies, the machine does not
    db.execute("CREATE TABLE IF NOT EXISTS sums (number INTEGER, total INTEGER)")
    graph = OperatorGraph("sums")
    source = graph.add_source("count", counting(keeper.offset or 0))
    middle = graph.add_operator("sum", summing(state, keeper, fate))
    graph.connect(source, middle, FROM_SOURCE)
    graph.connect(middle, graph.add_sink("write", writing(db, fate)), FROM_SOURCE)
    outcome = await graph.build().run()
    db.close()
    assert outcome.event == AllOk(), outcome


def main() -> None:
    place, kind, *fate = sys.argv[1:]
    step, count = (fate[0], int(fate[1])) if fate else (None, 0)
    store = SqliteStore(Path(place) / "store.db") if kind == "sqlite" else FileStore(Path(place) / "store")
    with store:
        asyncio.run(live(Path(place), store, Fate(step, count)))


if __name__ == "__main__":
    main()
