"""A loaded pipeline in Spark as a process of its own, to be killed with everything it started.

python -m tests.support.spark_process DIRECTORY EVENTS
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Until
from tests.support import spark_pipelines


def main(directory: str, events: str, kind: str = "stateless", master: str = "local[2]") -> None:
    """Run until everything is delivered."""
    make = getattr(spark_pipelines, kind)
    whole = make(Path(directory), events=int(events), master=master).batch(
        BatchLimits(max_events=2000, max_wait=timedelta(milliseconds=50))
    )
    whole.run(until=Until.CAUGHT_UP, started=lambda: print("started", flush=True))
    print("ended", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
