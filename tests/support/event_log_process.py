"""The event log of an edge without a JVM, as a process of its own that can be killed.

    python -m tests.support.event_log_process EDGE DIRECTORY LOG...

Says `started` when it runs, and `ended` when everything that lies in the logs is in files.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from holdfast import BatchLimits, Pipeline, Until
from holdfast.capture import Captured
from holdfast.testing import LocalProcessor
from meridian.sensors import EdgeLog
from meridian.sensors.event_log import event_log, lines


class ToItsEnd(EdgeLog):
    """A log that nobody writes to any more: it is over once there is nothing left to read."""

    is_over = False

    def read(self, wait: float) -> Captured | None:
        captured = super().read(wait)
        self.is_over = captured is None
        return captured

    @property
    def finished(self) -> bool:
        return self.is_over


def made(edge: Path, directory: Path, *logs: str, batch: int = 100) -> Pipeline:
    """The pipeline over these logs, in batches of so many events."""
    sources = [ToItsEnd(edge, log, consumer="event-log") for log in logs]
    limits = BatchLimits(max_events=batch, max_wait=timedelta(0))
    return event_log(directory, *sources, limits=limits, rotate_at=1)


def processed(events: pa.Table) -> pa.Table:
    """What the step of the pipeline makes of events."""
    return pa.Table.from_batches([lines(batch) for batch in events.to_batches()], lines(_nothing(events)).schema)


def run(whole: Pipeline) -> None:
    """Until everything is in files."""
    whole.run(
        until=Until.CAUGHT_UP,
        drain_within=60,
        processor=lambda: LocalProcessor(processed),
        started=lambda: print("started", flush=True),
    )
    print("ended", flush=True)


def _nothing(events: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=events.schema)


if __name__ == "__main__":
    run(made(*map(Path, sys.argv[1:3]), *sys.argv[3:]))
