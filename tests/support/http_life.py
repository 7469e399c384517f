"""A pipeline that takes pushes over HTTP into a SQLite table, without a JVM, to be killed and started again.

A process that has imported everything forks a child for each life: it costs no start of an interpreter. A life can also
be a process from the start: python -m tests.support.http_life DIRECTORY PORT.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from holdfast import BatchLimits, Budget, HttpPush, Pipeline, Sqlite, Takeover
from holdfast.testing import LocalProcessor

TABLE = "pushed"
_CONTEXT = multiprocessing.get_context("forkserver")


def pipeline(directory: Path, port: int) -> Pipeline:
    """Pushes into a table."""
    return (
        Pipeline("pushes", directory=directory / "pipeline")
        .read(HttpPush(port=port, patience=5.0, linger=0.002))
        .write(Sqlite(directory / "sink.db", table=TABLE))
        .batch(BatchLimits(max_events=2000, max_wait=timedelta(0)))
        .restarts(Budget(failures=10_000))
    )


def payloads(events: pa.Table) -> pa.Table:
    """What goes into the table: the number of the event and what was pushed."""
    return events.select(["seq", "tx_id"]).append_column("payload", events["payload"].cast(pa.string()))


class Life:
    """One process of the pipeline."""

    def __init__(self, directory: Path, port: int) -> None:
        _CONTEXT.set_forkserver_preload(["tests.support.http_life", "holdfast.capture.http.server", _OTLP])
        self._process = _CONTEXT.Process(target=_run, args=(directory, port), daemon=True)
        self._process.start()

    def kill(self) -> None:
        """Kill it without a word, and wait until it is gone."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        assert code == -signal.SIGKILL, f"the pipeline ended by itself: {code}"

    def drain(self) -> None:
        """SIGTERM: everything that is in the inbox is delivered before it ends."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGTERM)
        self._process.join(60)
        code = self._process.exitcode
        self._process.close()
        assert code == 0, f"the pipeline ended with {code}"


_OTLP = "holdfast.capture.http.otlp"


def _run(directory: Path, port: int) -> None:
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    whole = pipeline(directory, port)
    whole.start(processor=lambda: LocalProcessor(payloads), takeover=Takeover.REFUSE)
    while not asked and not whole.wait(timeout=0.05):
        pass
    whole.engine.captures[0].stop()
    _deliver_everything(whole)
    whole.drain(within=30)


def _deliver_everything(whole: Pipeline) -> None:
    """A drain admits nothing more to processing, so what is in the inbox is let through first."""
    inboxes = whole.engine.ground.inboxes.values()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        newest = whole.engine.ground.outbox.newest()
        ends = newest.ends if newest else {}
        if all(inbox.end() <= ends.get(inbox.uuid, 0) for inbox in inboxes) and whole.engine.delivery.is_caught_up():
            return
        time.sleep(0.01)
    raise AssertionError(whole.status())


if __name__ == "__main__":
    _run(Path(sys.argv[1]), int(sys.argv[2]))
