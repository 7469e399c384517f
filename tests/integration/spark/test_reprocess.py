"""Dead letters in real Spark: an event that comes back is read with the identity and the order it had."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.support.control_world import of_step
from tests.support.crash.reconcile import file_numbers
from tests.support.engine_pipelines import wait_until

from holdfast import Files, Generator, Pipeline, SinkSpec, SparkSettings, Sqlite, Upsert, sql
from holdfast.control import Belongings, DeadLetters
from holdfast.log import DeadLetterFilter, InboxReader

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]

EVENTS = 1100
"""Orders 1 to 100 and 1001 to 1100 are about the same keys."""
QUERY = """
    SELECT seq, source, event_id, key, CAST(position AS BIGINT) AS n, tx_end FROM events
    WHERE CAST(position AS BIGINT) NOT IN (50, 500) OR exists(headers, each -> each.key = 'holdfast.entry')
"""


def table(directory: Path) -> list[int]:
    with closing(sqlite3.connect(directory / "sink.db")) as db:
        return [n for (n,) in db.execute("SELECT n FROM orders ORDER BY n")]


@pytest.mark.req("K10")
def test_events_come_back_once_and_do_not_replace_what_has_overtaken_them(tmp_path: Path, spark: SparkSession) -> None:
    whole = (
        Pipeline("orders", directory=tmp_path / "pipeline")
        .read(Generator(events=EVENTS))
        .process(sql(QUERY))
        .write(
            SinkSpec(name="table", sink=Sqlite(tmp_path / "sink.db", table="orders", mode=Upsert(["key"]))),
            SinkSpec(name="archive", sink=Files(tmp_path / "files")),
        )
        .spark(SparkSettings(master="local[2]"))
    )
    whole.start()
    try:
        wait_until(whole.engine.is_caught_up, "all is delivered", within=200)
        with InboxReader.open(tmp_path / "pipeline" / "inbox" / "orders") as reader:
            lost = [pa.Table.from_batches(reader.read(n - 1, n)) for n in (50, 500)]
        belongings = Belongings.of(whole.engine)
        belongings.dead_letters.put([of_step(event) for event in lost])
        letters = DeadLetters(belongings)
        assert letters.reprocess(DeadLetterFilter()).again == 2
        wait_until(whole.engine.is_caught_up, "what came back is delivered", within=60)
        assert letters.reprocess(DeadLetterFilter()).again == 0
    finally:
        whole.drain(within=60)
    assert file_numbers(tmp_path / "files") == [n for n in range(1, EVENTS + 1) if n not in (50, 500)] + [50, 500]
    assert table(tmp_path) == list(range(101, EVENTS + 1)), "500 is there, and 50 has not replaced 1050"
