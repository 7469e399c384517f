"""Fusion as a pipeline: from the logs of sensors through Spark to a table for each output, and to subscribers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Pipeline, SinkSpec, SparkSettings, Sqlite, Upsert
from holdfast.capture.contract import Source
from meridian.fusion.keys import keyed
from meridian.fusion.outputs import ALERTS, OUTPUTS, WORDS, Output, place
from meridian.fusion.spark import Assembly, fusing

BATCHES = BatchLimits(max_events=200_000, max_bytes=256 << 20, max_wait=timedelta(milliseconds=20))
SPARK = SparkSettings(
    master="local[2]",
    conf={
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.shuffle.partitions": "1",
    },
)


def tables(directory: Path) -> list[SinkSpec]:
    """A table for each output, with one row a key, and one for all words."""
    said = Sqlite(place(directory, WORDS), table=WORDS)
    every_word = SinkSpec(name=WORDS, sink=said, only=ALERTS.route, columns=ALERTS.columns)
    return [*(_newest(directory, output) for output in OUTPUTS), every_word]


def pipeline(
    directory: Path,
    assembly: Assembly,
    *sources: Source,
    subscribers: Sequence[SinkSpec] = (),
    batches: BatchLimits = BATCHES,
    spark: SparkSettings = SPARK,
) -> Pipeline:
    """The pipeline, with everything it keeps below a directory.

    :param subscribers: who is told of alerts, besides the tables.
    """
    return (
        Pipeline("fusion", directory=directory / "pipeline")
        .read(*sources)
        .process(*fusing(assembly))
        .output_mode("update")
        .write(*keyed([*tables(directory), *subscribers]))
        .batch(batches)
        .spark(spark)
    )


def _newest(directory: Path, output: Output) -> SinkSpec:
    mode = Upsert(key=[output.key], newer_by=output.newer_by)
    return SinkSpec(
        name=output.table,
        sink=Sqlite(place(directory, output.table), table=output.table, mode=mode),
        only=output.route,
        columns=output.columns,
    )
