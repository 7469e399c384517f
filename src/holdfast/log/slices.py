"""Ranges of inboxes as partitions that Spark's executors can read: each carries the files and checksums it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from holdfast.log.restoring import as_captured
from holdfast.log.segment import clip, read_chunk
from holdfast.log.values import Chunk, Range

if TYPE_CHECKING:
    from holdfast.log.reader import InboxReader


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive chunks of one inbox, of which the events after `after` up to `upto` are wanted, but for a few."""

    directory: str
    chunks: Sequence[Chunk]
    after: int
    upto: int
    skipped: Sequence[int] = ()

    def read(self) -> Iterator[pa.RecordBatch]:
        """The events."""
        for chunk in self.chunks:
            events = clip(read_chunk(Path(self.directory), chunk), self.after, self.upto)
            yield as_captured(_without(events, self.skipped))


class Slices(InputPartition):
    """What one task reads, one slice behind the other: a task costs more than the few events of a quiet inbox."""

    def __init__(self, slices: Iterable[Slice] = ()) -> None:
        super().__init__(None)
        self.slices = tuple(slices)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The events."""
        for each in self.slices:
            yield from each.read()


def sliced(
    inboxes: Mapping[str, InboxReader], ranges: Iterable[Range], *, partition_bytes: int, max_partitions: int
) -> list[Slices]:
    """As few partitions as the size needs, inbox by inbox in the order of their events, without what is skipped."""
    found = [(each, chunk) for each in ranges for chunk in inboxes[each.inbox].chunks(each.after, each.upto)]
    total = sum(chunk.length for _, chunk in found)
    goal = -(-total // max(1, min(max_partitions, -(-total // partition_bytes))))
    return [
        Slices(
            _slice(inboxes[each.inbox], each, [chunk for _, chunk in of_inbox])
            for each, of_inbox in groupby(part, key=itemgetter(0))
        )
        for part in grouped(found, goal)
    ]


def _slice(inbox: InboxReader, wanted: Range, chunks: Sequence[Chunk]) -> Slice:
    skipped = [
        seq for seq in inbox.skipped(wanted.after, wanted.upto) if chunks[0].first_seq <= seq <= chunks[-1].last_seq
    ]
    return Slice(str(inbox.directory), tuple(chunks), wanted.after, wanted.upto, tuple(skipped))


def grouped(chunks: Sequence[tuple[Range, Chunk]], goal: int) -> Iterator[list[tuple[Range, Chunk]]]:
    """Consecutive chunks in groups of about `goal` bytes, and no more groups than of that size would hold them all."""
    ends = accumulate(chunk.length for _, chunk in chunks)
    placed = [(int((end - each[1].length / 2) // goal), each) for each, end in zip(chunks, ends, strict=True)]
    for _, group in groupby(placed, key=itemgetter(0)):
        yield [each for _, each in group]


def _without(events: pa.RecordBatch, skipped: Sequence[int]) -> pa.RecordBatch:
    if not skipped:
        return events
    return events.filter(pc.invert(pc.is_in(events["seq"], pa.array(skipped, pa.int64()))))
