"""Runs a function over Arrow batches so that a row that fails is reported and left out, and the others go on.

It knows no Spark: it runs in Spark's workers, and in tests without a JVM. An error that is no row's fault passes.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from holdfast.model.errors import InvalidStep
from holdfast.process.blame import chain_of, is_of_the_machine

Row = Mapping[str, Any]
RowFunction = Callable[[dict[str, Any]], "Row | Iterable[Row] | None"]
BatchFunction = Callable[[pa.RecordBatch], pa.RecordBatch]

EVENT = "event_id"
"""The column that says of which event a row is; without it nobody could say what was lost."""
_MESSAGE = 500
_TRACEBACK = 1500

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FailedRow:
    """A row that a step could not take."""

    step: str
    event_id: str
    kind: str
    """The name of the error's class."""
    message: str
    """The error and those that it came of, and the end of the traceback."""


Report = Callable[[Sequence[FailedRow]], None]


@dataclass(frozen=True)
class Guard:
    """What runs in a task in place of a function of the user. It is sent to the executors."""

    step: str
    over: Callable[[pa.RecordBatch, Guard], Iterator[pa.RecordBatch]]
    schema: pa.Schema
    """Of what comes out."""
    report: Report

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Spark's `mapInArrow`."""
        for batch in batches:
            if batch.num_rows:
                yield from self.over(batch, self)

    def failed(self, batch: pa.RecordBatch, place: int, error: Exception) -> None:
        """The row at this place failed, by itself."""
        event = batch.column(EVENT)[place].as_py()
        self.report([FailedRow(self.step, event, type(error).__name__, told(error))])

    def shaped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """A batch of the schema that was declared; `InvalidStep` when it has other columns."""
        if batch.schema.names != self.schema.names:
            raise InvalidStep(
                f"The step {self.step} gave the columns {batch.schema.names}, not {self.schema.names}.",
                remedy="Let it give those, or declare its `schema`.",
            )
        shaped = batch if batch.schema.equals(self.schema) else batch.cast(self.schema)
        for field, column in zip(self.schema, shaped.columns, strict=True):
            if column.null_count and not field.nullable:
                raise ValueError(f"the column {field.name} may not be empty")
        return shaped


@dataclass(frozen=True, slots=True)
class OverBatches:
    """A function from batch to batch. One that fails is tried on halves, down to the row that fails alone."""

    function: BatchFunction

    def __call__(self, batch: pa.RecordBatch, guard: Guard) -> Iterator[pa.RecordBatch]:
        """What comes of a batch."""

        def run(start: int, stop: int) -> pa.RecordBatch:
            made = self.function(batch.slice(start, stop - start))
            if not isinstance(made, pa.RecordBatch):
                raise InvalidStep(
                    f"The step {guard.step} returned {type(made).__name__}, not a RecordBatch.",
                    remedy="Let it return the RecordBatch it made.",
                )
            return guard.shaped(made)

        return by_halves(batch.num_rows, run, lambda place, error: guard.failed(batch, place, error))


@dataclass(frozen=True, slots=True)
class OverRows:
    """A function from row to row, to rows or to none. Every row is caught for itself."""

    function: RowFunction

    def __call__(self, batch: pa.RecordBatch, guard: Guard) -> Iterator[pa.RecordBatch]:
        """What comes of a batch."""
        taken: list[tuple[int, list[Row]]] = []
        for place, row in enumerate(batch.to_pylist()):
            try:
                taken.append((place, _rows(self.function(row))))
            except Exception as error:
                if is_of_the_machine(error):
                    raise
                guard.failed(batch, place, error)

        def run(start: int, stop: int) -> pa.RecordBatch:
            rows = [row for _, some in taken[start:stop] for row in some]
            unknown = {name for row in rows for name in row} - set(guard.schema.names)
            if unknown:
                raise ValueError(f"the schema of the step has no {', '.join(sorted(unknown))}")
            return guard.shaped(pa.RecordBatch.from_pylist(rows, schema=guard.schema))

        return by_halves(len(taken), run, lambda number, error: guard.failed(batch, taken[number][0], error))


def by_halves(count: int, run: Callable[[int, int], T], failed: Callable[[int, Exception], None]) -> Iterator[T]:
    """Run over all items, and over halves of what fails: what comes of those that do not fail alone, in order.

    :param failed: told of every item that fails alone.
    """
    pending = [(0, count)] if count else []
    while pending:
        start, stop = pending.pop()
        try:
            result = run(start, stop)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            if stop - start == 1:
                failed(start, error)
            else:
                middle = (start + stop) // 2
                pending += [(middle, stop), (start, middle)]
        else:
            yield result


def told(error: BaseException) -> str:
    """An error and those that it came of in a bounded text, the end of its traceback behind."""
    message = "; because of ".join(f"{type(each).__name__}: {each}" for each in chain_of(error))[:_MESSAGE]
    lines = "".join(traceback.format_exception(error))
    return f"{message}\n{lines[-_TRACEBACK:]}"


def _rows(made: Row | Iterable[Row] | None) -> list[Row]:
    if made is None:
        return []
    rows = [made] if isinstance(made, Mapping) else list(made)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"the function gave {type(row).__name__} where a row as a dict belongs")
    return rows
