"""A frame of Spark becomes parts of the outbox, in one pass over it.

Each task streams its rows into a file of its own and returns one row that describes it; the driver publishes exactly
the parts named in the returned rows, so what a failed or repeated task left behind is never seen. The rows are hashed
by Spark on the way and only summed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.log.parts import part_name, write_part
from holdfast.log.values import Digest, PartRef
from holdfast.model.steps import StepHook, no_hook
from holdfast.process.guarding import FailedRow, Report
from holdfast.runtime.publisher import Evaluation, Keep

if TYPE_CHECKING:
    from pyspark import Accumulator
    from pyspark.sql import DataFrame, Row, SparkSession

_HASH = "__holdfast_hash"
_WORD = 1 << 64
_REPORT = "number INT, file STRING, rows BIGINT, length BIGINT, crc32c BIGINT, nbytes BIGINT, hash_sum STRING"


@dataclass(frozen=True)
class PartWriter:
    """What runs in a task: writes its rows and reports them. It is sent to the executors."""

    directory: str
    epoch: int
    generation: int
    batch_id: int
    keep: Keep
    hook: StepHook = no_hook

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Spark's `mapInArrow`: all rows of a task in, one row about them out."""
        from pyspark import TaskContext

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        hashing = _Hashing(batches)
        part = self._write(number, hashing)
        yield _report(number, part, hashing)

    def _write(self, number: int, hashing: _Hashing) -> PartRef | None:
        first = next(hashing, None)
        if first is None:
            return None
        if self.keep is Keep.DIGEST:
            for _ in hashing:
                pass
            return None
        name = part_name(
            epoch=self.epoch,
            generation=self.generation,
            batch_id=self.batch_id,
            partition=number,
            attempt=uuid4().int,
        )
        return write_part(Path(self.directory), name, _chained(first, hashing), first.schema, hook=self.hook)


class _Hashing(Iterator[pa.RecordBatch]):
    """Passes batches on without their hash column, and adds the hashes up."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = (batch for batch in batches if batch.num_rows)
        self.rows = 0
        self.sum = 0

    def __next__(self) -> pa.RecordBatch:
        batch = next(self._batches)
        self.rows += batch.num_rows
        self.sum = (self.sum + _sum_of(batch.column(_HASH))) % _WORD
        return batch.drop_columns([_HASH])


def _sum_of(hashes: pa.Int64Array) -> int:
    """The sum of signed 64-bit hashes as it wraps around; halves, because Arrow's own sum refuses to overflow."""
    low = pc.sum(pc.bit_wise_and(hashes, 0xFFFFFFFF)).as_py()
    high = pc.sum(pc.shift_right(hashes, 32)).as_py()
    return int((high << 32) + low)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _report(number: int, part: PartRef | None, hashing: _Hashing) -> pa.RecordBatch:
    about = (part.file, part.rows, part.length, part.crc32c, part.nbytes) if part else (None, hashing.rows, 0, 0, 0)
    names = ("number", "file", "rows", "length", "crc32c", "nbytes", "hash_sum")
    types = (pa.int32(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.int64(), pa.string())
    values = (number, *about, str(hashing.sum))
    return pa.RecordBatch.from_arrays(
        [pa.repeat(pa.scalar(value, kind), 1) for value, kind in zip(values, types, strict=True)], names=list(names)
    )  # `pa.array` would import pandas first: half a second in every worker


class Reported:
    """The rows that steps gave up in the tasks whose results counted, as an accumulator of Spark brings them."""

    def __init__(self, session: SparkSession) -> None:
        from pyspark.accumulators import AccumulatorParam

        class Lists(AccumulatorParam[list[FailedRow]]):
            """Lists, one behind the other."""

            def zero(self, value: list[FailedRow]) -> list[FailedRow]:
                return []

            def addInPlace(self, value1: list[FailedRow], value2: list[FailedRow]) -> list[FailedRow]:  # noqa: N802
                value1.extend(value2)
                return value1

        self._rows = session.sparkContext.accumulator([], Lists())

    @property
    def report(self) -> Report:
        """What a task tells; it is sent to the executors."""
        return partial(_add, self._rows)

    def taken(self) -> tuple[FailedRow, ...]:
        """What was told since the last time, in a lasting order."""
        rows, self._rows.value = self._rows.value, []
        return tuple(sorted(rows, key=lambda row: (row.step, row.event_id)))


def _add(accumulator: Accumulator[list[FailedRow]], rows: Sequence[FailedRow]) -> None:
    accumulator.add(list(rows))


def hashed(frame: DataFrame) -> DataFrame:
    """The frame with a hash of each row, in one call to the JVM instead of one for each column."""
    columns = ", ".join("`{}`".format(name.replace("`", "``")) for name in frame.columns)
    return frame.selectExpr("*", f"xxhash64({columns}) AS {_HASH}")


def evaluated(frame: DataFrame, writer: PartWriter) -> Evaluation:
    """Evaluate the frame once. This is the one action that runs on it."""
    reports = sorted(hashed(frame).mapInArrow(writer, _REPORT).collect(), key=lambda row: row.number)
    digest = Digest(rows=sum(row.rows for row in reports), hash_sum=sum(int(row.hash_sum) for row in reports) % _WORD)
    return Evaluation(digest, tuple(_part(row) for row in reports if row.file is not None))


def warm_up(session: SparkSession) -> None:
    """Evaluate a frame of one row and keep nothing: whatever an evaluation needs is loaded and started afterwards."""
    evaluated(session.range(1), PartWriter("", epoch=0, generation=0, batch_id=0, keep=Keep.DIGEST))


def _part(row: Row) -> PartRef:
    return PartRef(file=row.file, rows=row.rows, length=row.length, crc32c=row.crc32c, nbytes=row.nbytes)
