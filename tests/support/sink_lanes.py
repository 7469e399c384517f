"""What a test needs to act as a lane: batches that can be foreseen, an identity, and handles that are closed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.deliver.contract import LaneIdentity, Sink, SinkBatch
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from tests.support.sink_places import Place

OUTBOX = "6f0c2a3e-3c1d-4f59-8d55-0a4b8e7f1c22"
ROWS_IN_BATCH = 5

SCHEMA = pa.schema([("seq", pa.int64()), ("id", pa.string()), ("note", pa.string())])


def identity(epoch: int = 1, *, lane: str = "archive", outbox: str = OUTBOX, hook: StepHook = no_hook) -> LaneIdentity:
    """Who the lane under test is."""
    return LaneIdentity(pipeline="orders", lane=lane, outbox=outbox, epoch=epoch, hook=hook)


def rows_of(oseq: int, count: int = ROWS_IN_BATCH) -> pa.Table:
    """The rows of a batch: no other batch has one of them."""
    numbers = range(oseq * 1_000_000, oseq * 1_000_000 + count)
    return pa.table([list(numbers), [f"id-{n}" for n in numbers], [f"row {n}" for n in numbers]], schema=SCHEMA)


def batch_of(oseq: int, rows: pa.Table | None = None, *, previous: int | None = None) -> SinkBatch:
    """A batch that follows on the one before."""
    rows = rows_of(oseq) if rows is None else rows
    ordinals = pa.array(range(rows.num_rows), pa.int64())
    return SinkBatch(oseq=oseq, previous=oseq - 1 if previous is None else previous, rows=rows, ordinals=ordinals)


def empty_batch(oseq: int, *, previous: int | None = None) -> SinkBatch:
    """A batch of which no row is left."""
    return batch_of(oseq, SCHEMA.empty_table(), previous=previous)


def part_of(batch: SinkBatch, start: int, count: int) -> SinkBatch:
    """Some rows of a batch, as a lane probes them."""
    rows, ordinals = batch.rows.slice(start, count), batch.ordinals.slice(start, count)
    return SinkBatch(oseq=batch.oseq, previous=batch.previous, rows=rows, ordinals=ordinals)


@dataclass
class Lanes:
    """Opens sinks on one place and closes them when the test is over."""

    place: Place
    handles: ExitStack = field(default_factory=ExitStack)

    def open(self, epoch: int = 1, *, lane: str = "archive", outbox: str = OUTBOX, hook: StepHook = no_hook) -> Sink:
        """Another handle on the same place, as another process would have it."""
        sink = self.place.sink()
        self.handles.callback(sink.close)
        sink.open(identity(epoch, lane=lane, outbox=outbox, hook=hook))
        return sink

    def read(self, schema: pa.Schema = SCHEMA) -> pa.Table:
        """What is there."""
        return self.place.read(schema)

    def seqs(self) -> list[int]:
        """The numbers of the rows that are there, one for each time a row is there."""
        found: list[int] = self.read().column("seq").to_pylist()
        return found


def seqs_of(*oseqs: int, count: int = ROWS_IN_BATCH) -> list[int]:
    """The numbers of the rows of these batches."""
    return [n for oseq in oseqs for n in rows_of(oseq, count).column("seq").to_pylist()]
