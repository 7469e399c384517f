"""How long after a kill -9 under load a pipeline works again: capture, lanes, and the first newly processed batch.

A pipeline reads 4,000 orders a second into Parquet, is killed with everything it started, and is started again. Times
are from the start of the new process, the interpreter's own start and all imports included.

Then only its JVM is killed, and the process that started it lives on. Times are from the kill until the first batch is
committed that the next JVM processed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROUNDS = 3
ROOT = Path(__file__).resolve().parents[1]


def run() -> Iterator[dict[str, object]]:
    """Without state and with it."""
    for kind in ("stateless", "stateful"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:  # the JVM ends last
            rounds = list(restarts(Path(scratch), kind))
        for name in ("capture", "lanes", "batch"):
            yield {
                "bench": "restart",
                "figure": f"{kind}_{name}_after",
                "value": round(median(found[name] for found in rounds), 2),
                "unit": "s",
            }
    for kind in ("stateless", "stateful"):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:  # the JVM ends last
            found = list(deaths_of_the_jvm(Path(scratch), kind))
        yield {
            "bench": "restart",
            "figure": f"{kind}_batch_after_death_of_jvm",
            "value": round(median(found), 2),
            "unit": "s",
        }


def deaths_of_the_jvm(directory: Path, kind: str) -> Iterator[float]:
    """Kill the JVM of a pipeline that lives on, as often as asked: seconds until the next batch is committed."""
    process, _ = lived_until_a_batch(directory, kind)
    assert process.stdout is not None
    try:
        for _ in range(ROUNDS):
            time.sleep(3)
            process.send_signal(signal.SIGUSR1)
            times = dict(json.loads(process.stdout.readline()) for _ in range(2))
            print(f"bench: restart {kind} {times}", flush=True)
            yield times["new batch"] - times["JVM killed"]
    finally:
        end(process)


def restarts(directory: Path, kind: str) -> Iterator[dict[str, float]]:
    """A first life, then kill and start, as often as asked."""
    process, _ = lived_until_a_batch(directory, kind)
    for _ in range(ROUNDS):
        time.sleep(3)
        end(process)
        process, times = lived_until_a_batch(directory, kind)
        yield times
    end(process)


def lived_until_a_batch(directory: Path, kind: str) -> tuple[subprocess.Popen[str], dict[str, float]]:
    """A new process, once it has processed a batch; and what happened when."""
    began = time.time()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench._restarted", str(directory), kind],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    times: dict[str, float] = {}
    while "batch" not in times:
        what, at = json.loads(process.stdout.readline())
        times.setdefault(what, at - began)
    print(f"bench: restart {kind} {times}", flush=True)
    return process, times


def end(process: subprocess.Popen[str]) -> None:
    """Kill the whole group."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


if __name__ == "__main__":
    for line in run():
        print(line)
