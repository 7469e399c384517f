"""A pipeline whose state is the user's own: orders counted per region by `transformWithStateInPandas`.

    python -m tests.support.spark_state DIRECTORY EVENTS STEP NTH

runs it in a process of its own, which kills itself and all it started when it reaches the step for the nth time.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from holdfast import BatchLimits, Budget, Generator, Pipeline, SparkSettings, Sqlite, Until, Upsert, python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
TOTALS = "region BIGINT, orders BIGINT, cents BIGINT, seq BIGINT"


class Total(StatefulProcessor):
    """Keeps how many orders a region had, and what they came to."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "orders BIGINT, cents BIGINT")

    def handleInputRows(  # noqa: N802 (Spark's name)
        self, key: Any, rows: Iterator[pd.DataFrame], _: Any
    ) -> Iterator[pd.DataFrame]:
        orders, cents = self._total.get() or (0, 0)
        seq = 0
        for some in rows:
            orders, cents, seq = orders + len(some), cents + int(some["cents"].sum()), max(seq, int(some["seq"].max()))
        self._total.update((orders, cents))
        yield pd.DataFrame({"region": [key[0]], "orders": [orders], "cents": [cents], "seq": [seq]})

    def close(self) -> None:
        pass


def counted(events: DataFrame) -> DataFrame:
    """The totals of every region that had orders."""
    orders = events.selectExpr("after.customer % 7 AS region", "after.cents AS cents", "seq")
    return orders.groupBy("region").transformWithStateInPandas(Total(), TOTALS, outputMode="Update", timeMode="None")


def pipeline(
    directory: Path, *, events: int, max_events: int = 510, max_wait: float = 0.02, state_format: str = "2"
) -> Pipeline:
    """Orders counted per region, to SQLite."""
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator(events=events, transactions=(3, 7, 1)))
        .process(python(counted))
        .output_mode("update")
        .write(Sqlite(directory / "sink.db", table="totals", mode=Upsert(key=["region"])))
        .batch(BatchLimits(max_events=max_events, max_wait=timedelta(seconds=max_wait)))
        .restarts(Budget(failures=100))
        .spark(SparkSettings(master="local[2]", conf={FORMAT: state_format, "spark.sql.shuffle.partitions": "1"}))
    )


def main(directory: str, events: str, step: str, nth: str) -> None:
    """Run until everything is delivered, or to the step."""
    reached: Counter[str] = Counter()

    def kill_all(at: str, /) -> None:
        reached[at] += 1
        if at == step and reached[at] == int(nth):
            os.killpg(0, signal.SIGKILL)

    whole = pipeline(Path(directory), events=int(events))
    whole.start(hook=kill_all)
    whole.wait(until=Until.CAUGHT_UP)
    whole.drain()


if __name__ == "__main__":
    main(*sys.argv[1:])
