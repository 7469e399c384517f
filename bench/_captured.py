"""One process on one core that captures a log file into an inbox, and says how many seconds that took.

python -m bench._captured LOG DIRECTORY
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pyarrow as pa

from holdfast import Follow, LogFiles
from holdfast.capture import Capture, CaptureState
from holdfast.log import Inbox


def main(log: str, directory: str) -> None:
    """Capture to the end of the file: every line is durable then."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.array([0])  # which loads pandas, once in a process
    failures: list[BaseException] = []
    with Inbox.open(Path(directory), name="logs", epoch=1) as inbox:
        capture = Capture(LogFiles(log, name="logs", follow=Follow.TO_THE_END), inbox, failed=failures.append)
        started = time.perf_counter()
        capture.start()
        while capture.status().state not in (CaptureState.FINISHED, CaptureState.FAILED):
            time.sleep(0.001)
        took = time.perf_counter() - started
        capture.stop()
        print(took, inbox.end())


if __name__ == "__main__":
    main(*sys.argv[1:])
