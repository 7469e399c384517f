"""What it costs to make events durable in an inbox: in large batches, and as single pushes at 20,000 a second.

Both sides of the first figure write to the same disk in turns. A push is timed from the moment at which it was to come,
so a push that is late because the one before it took long counts as slow. For the pushes the garbage collector is set
as in a process that serves: what was imported is frozen, and young objects are looked at less often than by default.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import pyarrow as pa

from holdfast.log import Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.model.positions import Seq

BATCH_ROWS, BATCHES, PIECE = 200_000, 20, 2**20
GROWTH_ROWS, GROWTH_BATCH = 10_000_000, 50_000
PUSHES_A_SECOND, SECONDS, FLUSH = 20_000, 5, 0.05


def run() -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        yield from large_batches(Path(place))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        yield from growth(Path(place))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        yield from single_pushes(Path(place))


def large_batches(place: Path) -> Iterator[dict[str, object]]:
    """Batches of 200,000 events, and the same bytes into a bare file, in turns."""
    batch = events(BATCH_ROWS)
    with Inbox.open(place / "inbox", name="bench", epoch=1) as inbox:
        inbox.append(batch, position=Seq(0))
        data = memoryview(stored_bytes(place / "inbox"))
        ours: list[float] = []
        bare: list[float] = []
        for number in range(BATCHES):
            turns = [
                (bare, lambda number=number: write_and_sync(place / f"bare-{number}", data)),
                (ours, lambda number=number: inbox.append(batch, position=Seq(number))),
            ]
            for times, action in turns if number % 2 else reversed(turns):
                times.append(timed(action))
    rate, peer = (len(data) / median(times) / 1e6 for times in (ours, bare))
    yield figure("large_batches", rate, "MB/s", peer=f"write and sync: {peer:.0f} MB/s", ratio=rate / peer)
    yield figure("large_batches_rows", BATCH_ROWS / median(ours), "events/s")


def growth(place: Path) -> Iterator[dict[str, object]]:
    """The same append into a log of a million and of ten million events."""
    batch = events(GROWTH_BATCH, payload=40)
    early, late = [], []
    with Inbox.open(place / "inbox", name="bench", epoch=1) as inbox:
        for number in range(GROWTH_ROWS // GROWTH_BATCH):
            took = timed(partial(inbox.append, batch, position=Seq(number))) * 1000
            rows = number * GROWTH_BATCH
            if rows < GROWTH_ROWS // 10:
                early.append(took)
            elif rows >= GROWTH_ROWS * 9 // 10:
                late.append(took)
    first, last = median(early), median(late)
    yield figure("append_at_10_million", last, "ms", peer=f"at 1 million: {first:.1f} ms", ratio=last / first)


def single_pushes(place: Path) -> Iterator[dict[str, object]]:
    """One event a push, at a steady rate, until each is durable."""
    one = events(1)
    latencies: list[float] = []
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with Inbox.open(place / "inbox", name="bench", epoch=1, flush_interval=FLUSH) as inbox:
        started = time.perf_counter()
        for number in range(PUSHES_A_SECOND * SECONDS):
            due = started + number / PUSHES_A_SECOND
            while (now := time.perf_counter()) < due:
                time.sleep(min(due - now, 0.001))
            future = inbox.push(one)
            future.add_done_callback(partial(note, latencies, due))
        submitted = time.perf_counter() - started
    yield figure("pushes_a_second", len(latencies) / submitted, "events/s")
    yield figure("push_p50", median(latencies) * 1000, "ms")
    yield figure("push_p99", quantiles(latencies, n=100)[98] * 1000, "ms")


def events(rows: int, payload: int = 200) -> pa.RecordBatch:
    """Events as a push or a log gives them: an id, a key and some bytes."""
    numbers = pa.array(np.arange(rows)).cast(pa.string())
    columns = {field.name: pa.nulls(rows, field.type) for field in CAPTURED}
    columns |= {
        "event_id": numbers,
        "source": pa.array(["bench"] * rows),
        "op": pa.array(["m"] * rows),
        "key": numbers,
        "capture_time": pa.array(np.arange(rows)).cast(pa.timestamp("us", tz="UTC")),
        "tx_end": pa.array(np.ones(rows, dtype=bool)),
        "position": numbers,
        "payload": pa.array([os.urandom(payload)] * rows),
    }
    return pa.RecordBatch.from_arrays([columns[field.name] for field in CAPTURED], schema=CAPTURED)


def stored_bytes(directory: Path) -> bytes:
    """What the first append became on disk."""
    with InboxReader.open(directory) as reader:
        chunks = reader.chunks(0, reader.end())
    return (directory / chunks[0].file).read_bytes()


def write_and_sync(path: Path, data: memoryview) -> None:
    """The peer: bytes that are ready, written in pieces (one large write is much slower here), and one sync."""
    with path.open("xb", buffering=0) as file:
        for start in range(0, len(data), PIECE):
            file.write(data[start : start + PIECE])
        os.fsync(file.fileno())


def note(latencies: list[float], due: float, _: object) -> None:
    latencies.append(time.perf_counter() - due)


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def figure(name: str, value: float, unit: str, **beside: object) -> dict[str, object]:
    if isinstance(ratio := beside.get("ratio"), float):
        beside["ratio"] = round(ratio, 2)
    return {"bench": "log_append", "figure": name, "value": round(value, 1), "unit": unit, **beside}


if __name__ == "__main__":
    for line in run():
        print(line)
