"""Batches so large that four tasks of Spark read them: the rows reach the sink in order, transactions in one piece."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

from holdfast import BatchLimits, Generator, Pipeline, SparkSettings, Sqlite, Until, python, sql

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from holdfast.process import Step

TASKS = 4
EVENTS, PADDING = 28_000, 4_000
"""More than three times what one task reads, so four are needed."""

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def shuffle(events: DataFrame) -> DataFrame:
    """Rows of one customer come together, whatever task has read them."""
    read = events.select("seq", "source", "key", "tx_id", f.spark_partition_id().alias("reader"))
    return read.repartition(TASKS, "key").withColumn("writer", f.spark_partition_id())


STEPS: dict[str, Step] = {
    "sql": sql("SELECT seq, source, tx_id, spark_partition_id() AS reader, spark_partition_id() AS writer FROM events"),
    "shuffle": python(shuffle),
}


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    source: str
    seq: int
    tx_id: str
    reader: int
    """The task that read it."""
    writer: int
    """The task that wrote it to the outbox."""


@dataclass(frozen=True)
class Outcome:
    rows: list[Row]
    """In the order in which they arrived."""
    parts: list[int]
    """How many parts each batch had that was not empty: Spark begins with one while the events still come."""


def outcome(directory: Path, step: Step, *sources: str) -> Outcome:
    """What became of all events, in one batch."""
    each = EVENTS // len(sources)
    orders = [Generator(name, events=each, transactions=(3, 7, 1, 12), padding=PADDING) for name in sources]
    whole = (
        Pipeline("orders", directory=directory / "pipeline")
        .read(*orders)
        .process(step)
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(EVENTS, max_bytes=1 << 30, max_wait=timedelta(minutes=5), max_partitions=TASKS))
        .spark(SparkSettings(master="local[2]"))
    )
    whole.start()
    assert whole.wait(until=Until.CAUGHT_UP, timeout=250), whole.status()
    parts = [len(batch.parts) for batch in whole.engine.ground.outbox.remembered() if batch.parts]
    whole.drain()
    with closing(sqlite3.connect(directory / "sink.db")) as db:
        found = db.execute("SELECT source, seq, tx_id, reader, writer FROM orders ORDER BY rowid").fetchall()
    return Outcome([Row(*row) for row in found], parts)


@pytest.mark.req("D5")
@pytest.mark.parametrize("sources", [("orders",), ("two", "one")], ids=lambda names: f"{len(names)} sources")
@pytest.mark.parametrize("step", STEPS)
def test_four_tasks_change_nothing_of_the_order(tmp_path: Path, step: str, sources: tuple[str, ...]) -> None:
    found = outcome(tmp_path, STEPS[step], *sources)
    assert found.parts == [TASKS]
    assert {row.reader for row in found.rows} == {row.writer for row in found.rows} == set(range(TASKS))
    assert [(row.source, row.seq) for row in found.rows] == [
        (name, seq) for name in sorted(sources) for seq in range(1, EVENTS // len(sources) + 1)
    ]
    runs = [key for key, _ in groupby((row.source, row.tx_id) for row in found.rows)]
    assert len(runs) == len(set(runs))
    handovers = sum(1 for _ in groupby(row.writer for row in found.rows))
    assert handovers == TASKS if step == "sql" else handovers > EVENTS // 2, "a shuffle scatters neighbours"
