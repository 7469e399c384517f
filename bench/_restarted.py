"""The pipeline that `bench.restart` kills: it says when it captures, delivers, and has processed a new batch.

After SIGUSR1 it kills its JVM, and says so, and says when a new batch is committed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Budget, Files, Generator, Pace, Pipeline, SparkSettings, sql
from holdfast.runtime.gateway import running

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
    asked = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    while not whole.wait(timeout=0.05):
        if asked.is_set():
            asked.clear()
            outlive_the_jvm(whole)


def outlive_the_jvm(whole: Pipeline) -> None:
    """Kill the JVM, and wait until a batch is committed that the next one processed."""
    jvm = running()
    assert jvm is not None
    os.killpg(jvm.process.pid, signal.SIGKILL)
    say("JVM killed")
    while (now := running()) is jvm or now is None:
        time.sleep(0.01)
    published = whole.status().delivery.newest  # the old JVM publishes nothing once there is a new one
    while whole.status().delivery.committed <= published:
        time.sleep(0.01)
    say("new batch")


if __name__ == "__main__":
    main(*sys.argv[1:])
