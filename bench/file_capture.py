"""Log lines from a file: durable in an inbox, and as parsed rows in Parquet.

The peer of the first figure is `cat` of the same file into another one, synced at the end, in turns with ours; ours has
one core. The peer of the second is a plain Spark job that reads the same files as text, parses, filters and writes
Parquet, in the same session and after the same warm-up: it is a batch job, with no positions, no inbox and no promise.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from statistics import median

from bench.pipeline import MASTER, when
from holdfast import (
    BatchLimits,
    Files,
    Follow,
    LogFiles,
    Pipeline,
    SinkSpec,
    SparkSettings,
    Until,
    parse_json,
    sql,
)
from holdfast.runtime.session import spark_session

LINES, ROUNDS = 2_000_000, 5
FILES, LINES_A_FILE = 8, 250_000
SCHEMA = "ts STRING, level STRING, service STRING, request STRING, path STRING, ms INT, status INT"
KEPT = "record.status >= 400"
COLUMNS = "record.ts, record.level, record.request, record.path, record.ms, record.status"


def run() -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        yield from durable(Path(place))
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        yield from parsed(Path(place))


def durable(place: Path) -> Iterator[dict[str, object]]:
    """The whole file, again and again: by us, and by `cat`."""
    log = place / "app.log"
    size = write_log(log, LINES)
    ours, peer = [], []
    for number in range(ROUNDS):
        peer.append(copied(log, place / "copy"))
        ours.append(captured(log, place / f"inbox{number}"))
        shutil.rmtree(place / f"inbox{number}")
    rate, beside = size / median(ours) / 1e6, size / median(peer) / 1e6
    yield figure("durable", rate, "MB/s", peer=f"cat and sync: {beside:.0f} MB/s", ratio=round(rate / beside, 2))
    yield figure("durable_lines", LINES / median(ours), "lines/s")


def captured(log: Path, inbox: Path) -> float:
    """Seconds until every line is durable, on one core."""
    told = subprocess.run(
        [sys.executable, "-m", "bench._captured", str(log), str(inbox)], check=True, capture_output=True, text=True
    )
    seconds, lines = told.stdout.split()
    assert int(lines) == LINES, f"{lines} lines of {LINES} were captured"
    return float(seconds)


def copied(log: Path, copy: Path) -> float:
    """Seconds of the peer."""
    started = time.perf_counter()
    with copy.open("wb") as file:
        subprocess.run(["cat", str(log)], check=True, stdout=file)
        os.fsync(file.fileno())
    took = time.perf_counter() - started
    copy.unlink()
    return took


def parsed(place: Path) -> Iterator[dict[str, object]]:
    """Files of JSON lines, of which some are kept, as Parquet."""
    for number in range(FILES):
        write_log(place / f"app{number}.log", LINES_A_FILE, seed=number)
    plain = plain_rate(place)
    ours = our_rate(place)
    yield figure(
        "parsed_lines", ours, "lines/s", peer=f"plain Spark: {plain:.0f} lines/s", ratio=round(ours / plain, 2)
    )


def our_rate(place: Path) -> float:
    """Lines a second from the first batch in the sink to the last."""
    whole = (
        Pipeline("bench", directory=place / "pipeline")
        .read(LogFiles(place / "app*.log", name="logs", follow=Follow.TO_THE_END))
        .process(parse_json(SCHEMA), sql(f"SELECT {COLUMNS} FROM events WHERE {KEPT}"))
        .write(SinkSpec(name="archive", sink=Files(place / "ours"), max_inflight=2))
        .batch(BatchLimits(max_events=LINES_A_FILE, max_bytes=1 << 40, max_wait=timedelta(seconds=1)))
        .spark(SparkSettings(master=MASTER))
    )
    whole.start()
    try:
        began = when(lambda: whole.status().delivery.lanes["archive"].cursor >= 1)
        newest = whole.engine.ground.outbox.newest()
        assert newest is not None
        before = sum(newest.ends.values())
        whole.wait(until=Until.CAUGHT_UP, timeout=600)
        return (FILES * LINES_A_FILE - before) / (time.perf_counter() - began)
    finally:
        whole.drain()


def plain_rate(place: Path) -> float:
    """Lines a second of a job that does nothing else; the second run, when all is warm."""
    from pyspark.sql import functions as f

    session = spark_session(SparkSettings(master=MASTER))
    for number in range(2):
        started = time.perf_counter()
        lines = session.read.text(str(place / "app*.log"))
        rows = lines.select(f.from_json("value", SCHEMA).alias("record")).where(KEPT)
        rows.selectExpr(*COLUMNS.split(", ")).write.parquet(str(place / f"plain{number}"))
        took = time.perf_counter() - started
    return FILES * LINES_A_FILE / took


def write_log(path: Path, lines: int, seed: int = 0) -> int:
    """A log as services write them, about 180 bytes a line; its size."""
    random = Random(seed)
    with path.open("w") as file:
        for number in range(lines):
            entry = {
                "ts": f"2026-01-01T00:{number // 60_000 % 60:02d}:{number % 60_000 / 1000:06.3f}Z",
                "level": random.choice(["info", "warn", "error"]),
                "service": "checkout",
                "request": f"{random.getrandbits(128):032x}",
                "path": f"/api/v1/orders/{random.randrange(10**6)}",
                "ms": random.randrange(2000),
                "status": random.choice([200, 201, 404, 500]),
            }
            file.write(json.dumps(entry, separators=(",", ":")) + "\n")
    return path.stat().st_size


def figure(name: str, value: float, unit: str, **beside: object) -> dict[str, object]:
    return {"bench": "file_capture", "figure": name, "value": round(value, 1), "unit": unit, **beside}


if __name__ == "__main__":
    for line in run():
        print(line)
