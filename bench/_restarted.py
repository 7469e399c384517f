"""The pipeline that `bench.restart` kills: it says when it captures, delivers, and has processed a new batch."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Budget, Files, Generator, Pace, Pipeline, SparkSettings, sql

QUERIES = {
    "stateless": "SELECT seq, key, op, event_time, tx_id, after FROM events WHERE op <> 'd'",
    "stateful": "SELECT after.customer % 100 AS region, count(*) AS orders, max(seq) AS seq FROM events GROUP BY 1",
}


def say(what: str) -> None:
    """One line: what happened, and when."""
    print(json.dumps([what, time.time()]), flush=True)


def main(directory: str, kind: str) -> None:
    """Run until killed."""
    whole = (
        Pipeline("bench", directory=Path(directory) / "pipeline")
        .read(Generator(pace=Pace(rate=4000)))
        .process(sql(QUERIES[kind]))
        .output_mode("update" if kind == "stateful" else "append")
        .write(Files(Path(directory) / "out"))
        .batch(BatchLimits(max_wait=timedelta(milliseconds=100)))
        .restarts(Budget(failures=1000))
        .spark(SparkSettings(master="local[2]"))
    )
    whole.start()
    say("lanes")
    before = whole.status().spark.batch_id
    while not any(capture.captured for capture in whole.status().captures):
        time.sleep(0.05)
    say("capture")
    while whole.status().spark.batch_id == before:
        time.sleep(0.05)
    say("batch")
    whole.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
