"""Pipelines of made-up orders that run without a JVM, and the means to end them in every way."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import BatchLimits, Budget, Files, Generator, Pipeline, SinkSpec, Sqlite, Until
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import file_numbers, table_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast import Accept, Takeover


def passed(events: int) -> list[int]:
    """The orders that the steps let through."""
    return [n for n in range(1, events + 1) if n % 10]


def pipeline(directory: Path, *sources: Generator, limits: BatchLimits | None = None) -> Pipeline:
    """Orders to files and SQLite."""
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(*sources)
        .write(
            SinkSpec(name="archive", sink=Files(directory / "files"), max_inflight=3),
            SinkSpec(name="table", sink=Sqlite(directory / "sink.db", table="orders")),
        )
        .batch(limits or BatchLimits(max_events=100, max_wait=timedelta(0)))
        .restarts(Budget(failures=100))
    )


def run(whole: Pipeline, *, patience: float = 60, **start: Accept | Takeover) -> None:
    """Run to the end of the sources, and drain."""
    with running(whole, **start):
        assert whole.wait(until=Until.CAUGHT_UP, timeout=patience), whole.status()
        whole.drain()


@contextmanager
def running(whole: Pipeline, **start: Accept | Takeover) -> Iterator[Pipeline]:
    """A pipeline that is started, and stopped at the end if nobody did."""
    whole.start(processor=lambda: LocalProcessor(orders), **start)  # type: ignore[arg-type]
    try:
        yield whole
    finally:
        if whole.engine.is_open:
            whole.stop()


def check_exact(directory: Path, events: int) -> None:
    """Both sinks hold every order that passed, once and in order."""
    assert table_numbers(directory / "sink.db") == passed(events)
    assert file_numbers(directory / "files") == passed(events)
