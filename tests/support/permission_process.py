"""A pipeline without a JVM whose files directory loses the right to be written, and gets it back.

    python -m tests.support.permission_process DIRECTORY EVENTS

Run without the right to write everywhere. Says what it has seen.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Budget, Files, Pipeline, Sqlite
from holdfast.deliver import LaneState
from holdfast.deliver.status import LaneStatus
from tests.support.engine_pipelines import Tap, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed


def main(directory: Path, events: int) -> None:
    """Freeze the files, let the table go on, and mend the files."""
    files = directory / "files"
    source = Tap(events, open_to=events // 2)
    whole = (
        Pipeline("orders", directory=directory / "pipeline")
        .read(source)
        .write(impatient("archive", Files(files)), impatient("table", Sqlite(directory / "sink.db", table="orders")))
        .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        .restarts(Budget(failures=0))
    )
    files.mkdir(mode=0o500)
    with started(whole):
        wait_until(lambda: lane(whole, "archive").state is LaneState.FROZEN, "the files are frozen")
        print("frozen", flush=True)
        source.open_to = events
        wait_until(lambda: lane(whole, "table").rows_out == len(passed(events)), "the table has everything")
        files.chmod(0o755)
        wait_until(lambda: lane(whole, "archive").rows_out == len(passed(events)), "the files have everything")
        print("mended", flush=True)
        finish(whole)
        print("drained", flush=True)


def lane(whole: Pipeline, name: str) -> LaneStatus:
    """What is told of a lane."""
    return whole.status().delivery.lanes[name]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
