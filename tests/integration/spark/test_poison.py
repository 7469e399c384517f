"""Rows that break real Spark: in functions over rows and batches, and in SQL; everything else is delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import finish, started, wait_until
from tests.support.spark_pipelines import NUMBERS, _pipeline, passed, run, totals_in

from holdfast import Pipeline, Sqlite, Upsert, batches, python, rows, sql
from holdfast.capture.generator import order
from holdfast.flow.exits import Budget
from holdfast.log import DeadLetterLog
from holdfast.model.errors import NoRowFailsAlone

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from holdfast.process import Step

EVENTS = 3000

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def refuse_some(row: dict[str, Any]) -> dict[str, Any]:
    if int(row["position"]) % 700 == 1:
        raise KeyError("nobody knows it")
    return row


def refuse_batches(events: pa.RecordBatch) -> pa.RecordBatch:
    if pc.any(pc.equal(events["position"], "1234")).as_py():
        raise ValueError("1234 is among them")
    return events


def orders(directory: Path, *steps: Step, events: int = EVENTS) -> Pipeline:
    return (
        _pipeline(directory, events, "local[2]")
        .process(*steps, sql(NUMBERS))
        .write(Sqlite(directory / "sink.db", table="orders"))
    )


def dead(directory: Path) -> list[tuple[str, int]]:
    with DeadLetterLog.open(directory / "pipeline" / "dead", epoch=1_000_000) as log:
        return sorted((entry.stage, int(entry.position or 0)) for entry in log.entries())


@pytest.mark.req("D9", "K9", "G10", "X8")
def test_rows_that_functions_cannot_take_are_dead_letters_and_sql_goes_on_behind_them(
    tmp_path: Path, spark: SparkSession
) -> None:
    whole = orders(tmp_path, rows(refuse_some), batches(refuse_batches))
    run(whole)
    poison = [1, 701, 1401, 2101, 2801]
    assert whole.status().spark.restarts == 0
    assert dead(tmp_path) == sorted([("step:refuse_batches", 1234), *(("step:refuse_some", n) for n in poison)])
    assert table_numbers(tmp_path / "sink.db") == [n for n in passed(EVENTS) if n not in {*poison, 1234}]


@pytest.mark.req("D9", "K9", "G10", "X8")
def test_rows_that_break_a_query_are_found_and_the_stream_goes_on(tmp_path: Path, spark: SparkSession) -> None:
    whole = orders(tmp_path, sql("SELECT * FROM events WHERE CAST(IF(position = '777', 'x', '1') AS INT) = 1"))
    run(whole)
    assert dead(tmp_path) == [("step:query", 777)]
    assert table_numbers(tmp_path / "sink.db") == [n for n in passed(EVENTS) if n != 777]


@pytest.mark.req("X8", "X10")
def test_a_row_that_breaks_an_aggregation_is_in_no_total(tmp_path: Path, spark: SparkSession) -> None:
    query = """
        SELECT after.customer % 7 AS region, count(*) AS orders, sum(after.cents div IF(after.n = 1777, 0, 1)) AS cents,
        max(seq) AS seq FROM events GROUP BY after.customer % 7
    """
    table = Sqlite(tmp_path / "sink.db", table="totals", mode=Upsert(key=["region"]))
    whole = _pipeline(tmp_path, EVENTS, "local[2]").process(sql(query)).output_mode("update").write(table)
    run(whole)
    assert dead(tmp_path) == [("step:query", 1777)]
    expected: dict[int, tuple[int, int]] = {}
    for n in range(1, EVENTS + 1):
        if n != 1777:
            region = order(n)["customer"] % 7
            count, cents = expected.get(region, (0, 0))
            expected[region] = (count + 1, cents + order(n)["cents"])
    assert totals_in(tmp_path) == expected


@pytest.mark.req("X8")
def test_a_sum_that_overflows_makes_the_pipeline_fail_with_the_rows_named(tmp_path: Path, spark: SparkSession) -> None:
    query = "SELECT 1 AS region, 1 AS orders, sum(5000000000000000000) AS cents, max(seq) AS seq FROM events"
    table = Sqlite(tmp_path / "sink.db", table="totals", mode=Upsert(key=["region"]))
    whole = _pipeline(tmp_path, 1000, "local[2]").process(sql(query)).output_mode("update").write(table)
    whole.start()
    assert whole.wait(timeout=200)
    assert isinstance(whole.engine.error, NoRowFailsAlone)
    assert "ARITHMETIC_OVERFLOW" in str(whole.engine.error)
    whole.stop()
    assert dead(tmp_path) == []


@pytest.mark.req("K9")
def test_a_full_disk_in_a_worker_is_blamed_on_no_row_and_waited_for(tmp_path: Path, spark: SparkSession) -> None:
    full = tmp_path / "the disk is full"
    full.touch()

    def no_space(frame: DataFrame) -> DataFrame:
        def fail(batches: Any) -> Any:
            for batch in batches:
                if batch.num_rows and full.exists():
                    raise OSError(28, "No space left on device")
                yield batch

        return frame.mapInArrow(fail, frame.schema)

    with started(orders(tmp_path, python(no_space), events=100).restarts(Budget(failures=1)), processor=None) as whole:
        wait_until(lambda: whole.status().spark.restarts > 2, "more restarts than the budget has", within=100)
        full.unlink()
        finish(whole, within=100)
    assert table_numbers(tmp_path / "sink.db") == passed(100)
    assert dead(tmp_path) == []
