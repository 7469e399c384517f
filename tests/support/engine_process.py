"""A pipeline without a JVM in a process of its own, whose processor crashes at every batch or never.

    python -m tests.support.engine_process DIRECTORY EVENTS FAILURES crashing|sound|paused

Says how it ended; one that is paused says so, and goes on being paused.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from holdfast import BatchLimits, Budget, Generator, HoldfastError, Pipeline, Sqlite, Until
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders


def crash(_: pa.Table) -> pa.Table:
    """Steps that always fail, with something that nobody foresaw."""
    raise ZeroDivisionError("the steps divide by zero")


def pipeline(directory: Path, events: int, failures: int) -> Pipeline:
    """Orders into a table, forgiven so many failures."""
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator("orders", events=events, transactions=(3, 7, 1), chunk=60))
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        .restarts(Budget(failures=failures))
    )


def pause(whole: Pipeline) -> None:
    """Pause it, and say so."""
    whole.pause()
    print("paused", flush=True)


def main(directory: str, events: str, failures: str, manner: str) -> None:
    """Run until the orders are delivered."""
    whole = pipeline(Path(directory), int(events), int(failures))
    steps = crash if manner == "crashing" else orders
    try:
        whole.run(
            until=Until.CAUGHT_UP,
            processor=lambda: LocalProcessor(steps),
            started=lambda: pause(whole) if manner == "paused" else None,
        )
        print(f"ended {whole.engine.state.value}", flush=True)
    except HoldfastError as error:
        cause = error.__cause__ if isinstance(error.__cause__, HoldfastError) else error
        print(f"ended {cause.code} {cause}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
