"""A flow as a process of its own that ends itself with SIGKILL at a named step, for the tests of exactly-once.

    python -m tests.support.operator_process PLACE MODE STORE [STEP COUNT]

where STORE is `sqlite`, `file` or `replicated`, whose disk is the directory `disk` and whose remote tier is beside it.

The results leave the flow into a database that knows nothing of the flow's checkpoints. Its table has no unique
columns: a result that is delivered twice stands in it twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.operators import Flow, FlowSettings, Item, Operator, SnapshotMode
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.sqlite import SqliteStore
from tests.support.operator_flows import GRAPH, HandTimer, ListSource, Matches, Mortal, RunningSum, Scale
from tests.support.replicas import stepped

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators import Offset

FIRST = list(range(1, 31))
SECOND = [output for value in FIRST for output in (-value, value * 10)]


class Fate:
    """Ends the process when a step is reached for the n-th time; a step ending in `+` means a moment after it."""

    def __init__(self, step: str | None, count: int) -> None:
        self._step, self._left = step, count

    def __call__(self, step: str, /) -> None:
        if self._step is None or self._step.rstrip("+") != step:
            return
        self._left -= 1
        if self._left:
            return
        if self._step.endswith("+"):
            threading.Timer(0.002, kill).start()
        else:
            kill()


class Copying:
    """Copies to the remote tier after every second complete snapshot, whatever else fate has in mind."""

    def __init__(self, store: ReplicatedStore, fate: Fate) -> None:
        self._store, self._fate = store, fate
        self._complete = 0

    def __call__(self, step: str, /) -> None:
        self._complete += step == "cut.durable"
        if step == "cut.durable" and self._complete % 2 == 0:
            self._store.replicate_once()
        self._fate(step)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Outside:
    """The database of results, with a cursor written in the same transaction as the rows."""

    def __init__(self, path: Path, fate: Fate) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = OFF")  # the process dies, the machine does not
        self._db.execute("CREATE TABLE IF NOT EXISTS results (value INTEGER)")
        self._db.execute("CREATE TABLE IF NOT EXISTS cursor (at INTEGER)")
        self._fate = fate

    def publish(self, number: int, values: Sequence[int]) -> None:
        """Write the values unless this number, or a later one, was written before."""
        self._db.execute("BEGIN IMMEDIATE")
        (at,) = self._db.execute("SELECT coalesce(max(at), 0) FROM cursor").fetchone()
        if number > at:
            self._db.executemany("INSERT INTO results VALUES (?)", [(value,) for value in values])
            self._fate("outside.written")
            self._db.execute("INSERT INTO cursor VALUES (?)", (number,))
        self._db.execute("COMMIT")
        self._fate("outside.committed")


class SinkByNumber:
    """Per-operator mode: every item goes out at once, under its number."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside

    def apply(self, item: Item[int]) -> list[object]:
        self._outside.publish(item.seq, [item.value])
        return []

    def snapshot(self) -> Sequence[bytes]:
        return []

    def restore(self, buffers: Sequence[memoryview]) -> None:
        assert not buffers


class SinkByCompletion:
    """Aligned mode: results wait in the state until the snapshot that holds them is complete."""

    def __init__(self, outside: Outside) -> None:
        self._outside = outside
        self._pending: list[int] = []
        self._in_snapshot = 0

    def apply(self, item: Item[int]) -> list[object]:
        self._pending.append(item.value)
        return []

    def snapshot(self) -> Sequence[bytes]:
        self._in_snapshot = len(self._pending)
        return [json.dumps(self._pending).encode()]

    def restore(self, buffers: Sequence[memoryview]) -> None:
        self._pending = json.loads(b"".join(buffers))
        self._in_snapshot = len(self._pending)

    def completed(self, snapshot_id: int) -> None:
        self._outside.publish(snapshot_id, self._pending[: self._in_snapshot])
        del self._pending[: self._in_snapshot]
        self._in_snapshot = 0


class PacedSource(ListSource):
    """A source with which time passes: a second for every value."""

    def __init__(self, values: Sequence[object], timer: HandTimer) -> None:
        super().__init__(values)
        self._timer = timer

    async def read(self, after: Offset | None) -> AsyncGenerator[tuple[object, Offset], None]:
        async for pair in super().read(after):
            self._timer.advance(1.0)
            await asyncio.sleep(0)
            yield pair


async def run(place: Path, mode: SnapshotMode, store: CheckpointStore, fate: Fate) -> None:
    timer, outside = HandTimer(), Outside(place / "results.db", fate)
    aligned = mode is SnapshotMode.ALIGNED
    operators: dict[str, Operator[int, object]] = {
        "scale": Scale(),
        "merge": Matches() if aligned else RunningSum(),
        "sink": SinkByCompletion(outside) if aligned else SinkByNumber(outside),
    }
    cadences = {"scale": 7.0, "merge": 9.0, "sink": 11.0}
    epoch, is_replicated = store.take_over(), isinstance(store, ReplicatedStore)
    hook = Copying(store, fate) if isinstance(store, ReplicatedStore) else fate
    cadence = 30.0 if is_replicated and epoch > 1 else 1.0  # snapshots at other items than before the disk was lost
    settings = FlowSettings(
        mode, cadence, cadences, barrier_timeout=1e9, credits=4, timer=timer, offload=Mortal(), hook=hook
    )
    flow = await Flow.recover("killed", GRAPH, operators=operators, store=store, epoch=epoch, settings=settings)
    await flow.run({"first": PacedSource(FIRST, timer), "second": PacedSource(SECOND, timer)})


def opened(kind: str, place: Path) -> CheckpointStore:
    if kind == "replicated":
        (place / "disk").mkdir(exist_ok=True)
        return stepped(SqliteStore(place / "disk" / "store.db"), FileStore(place / "remote"))
    return SqliteStore(place / "store.db") if kind == "sqlite" else FileStore(place / "store")


def main() -> None:
    place, mode, kind, *fate = sys.argv[1:]
    with opened(kind, Path(place)) as store:
        end = Fate(fate[0], int(fate[1])) if fate else Fate(None, 0)
        asyncio.run(run(Path(place), SnapshotMode[mode], store, end))


if __name__ == "__main__":
    main()
