"""Pipelines of made-up orders that run in real Spark, and what their sinks must hold."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

from holdfast import (
    Accept,
    BatchLimits,
    Budget,
    Files,
    Generator,
    Pipeline,
    SinkSpec,
    SparkSettings,
    Sqlite,
    Until,
    Upsert,
    sql,
)
from holdfast.capture.generator import order

NUMBERS = """
    SELECT seq, source, event_id, tx_id, tx_end, after.n AS n, after.cents AS cents FROM events WHERE after.n % 10 <> 0
"""
TOTALS = """
    SELECT after.customer % 7 AS region, count(*) AS orders, sum(after.cents) AS cents, max(seq) AS seq
    FROM events GROUP BY after.customer % 7
"""


def stateless(directory: Path, *, events: int, query: str = NUMBERS, master: str = "local[2]") -> Pipeline:
    """Every order that 10 does not divide, to Parquet and SQLite."""
    return (
        _pipeline(directory, events, master)
        .process(sql(query))
        .write(
            SinkSpec(name="archive", sink=Files(directory / "files"), max_inflight=3),
            SinkSpec(name="table", sink=Sqlite(directory / "sink.db", table="orders")),
        )
    )


def stateful(directory: Path, *, events: int, query: str = TOTALS, master: str = "local[2]") -> Pipeline:
    """Orders counted per region, to SQLite."""
    table = Sqlite(directory / "sink.db", table="totals", mode=Upsert(key=["region"]))
    return _pipeline(directory, events, master).process(sql(query)).output_mode("update").write(table)


def _pipeline(directory: Path, events: int, master: str) -> Pipeline:
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator(events=events, transactions=(3, 7, 1)))
        .batch(BatchLimits(max_events=1000, max_wait=timedelta(milliseconds=20)))
        .restarts(Budget(failures=100))
        .spark(SparkSettings(master=master))
    )


def run(pipeline: Pipeline, *, accept: Accept = Accept.NOTHING, patience: float = 100) -> None:
    """Run to the end of the source, and drain."""
    pipeline.start(accept=accept)
    assert pipeline.wait(until=Until.CAUGHT_UP, timeout=patience), pipeline.status()
    pipeline.drain()


def passed(events: int) -> list[int]:
    """The orders that the stateless query lets through."""
    return [n for n in range(1, events + 1) if n % 10]


def totals(events: int) -> dict[int, tuple[int, int]]:
    """What the stateful query comes to: (orders, cents) of each region."""
    found: dict[int, tuple[int, int]] = {}
    for n in range(1, events + 1):
        region = order(n)["customer"] % 7
        count, cents = found.get(region, (0, 0))
        found[region] = (count + 1, cents + order(n)["cents"])
    return found


def totals_in(directory: Path) -> dict[int, tuple[int, int]]:
    """What the table of totals holds."""
    with sqlite3.connect(directory / "sink.db") as db:
        rows = db.execute("SELECT region, orders, cents FROM totals").fetchall()
    return {region: (orders, cents) for region, orders, cents in rows}
