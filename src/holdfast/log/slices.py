"""Ranges of inboxes as partitions that Spark's executors can read: each carries the files and checksums it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Slices(InputPartition):
    """Consecutive chunks of one inbox, of which the events after `after` up to `upto` are wanted, but for a few."""

    def __init__(
        self, directory: str, chunks: Sequence[Chunk], after: int, upto: int, skipped: Sequence[int] = ()
    ) -> None:
        super().__init__(None)
        self.directory = directory
        self.chunks = tuple(chunks)
        self.after = after
        self.upto = upto
        self.skipped = tuple(skipped)

    def read(self) -> Iterator[pa.RecordBatch]:
        """The events."""
        for chunk in self.chunks:
            events = clip(read_chunk(Path(self.directory), chunk), self.after, self.upto)
            yield as_captured(_without(events, self.skipped))


def sliced(
    inboxes: Mapping[str, InboxReader], ranges: Iterable[Range], *, partition_bytes: int, max_partitions: int
) -> list[Slices]:
    """As few partitions as the size needs, each of one inbox in the order of its events, without what is skipped."""
    found = [(inboxes[each.inbox], each, inboxes[each.inbox].chunks(each.after, each.upto)) for each in ranges]
    total = sum(chunk.length for *_, chunks in found for chunk in chunks)
    tasks = max(1, min(max_partitions, -(-total // partition_bytes)))
    goal = -(-total // tasks)
    return [
        Slices(str(inbox.directory), group, each.after, each.upto, _within(group, inbox.skipped(each.after, each.upto)))
        for inbox, each, chunks in found
        for group in grouped(chunks, goal)
    ]


def _within(chunks: Sequence[Chunk], seqs: Sequence[int]) -> list[int]:
    return [seq for seq in seqs if chunks[0].first_seq <= seq <= chunks[-1].last_seq]


def grouped(chunks: Sequence[Chunk], goal: int) -> Iterator[list[Chunk]]:
    """Consecutive chunks in groups of about `goal` bytes, and no more groups than of that size would hold them all."""
    ends = accumulate(chunk.length for chunk in chunks)
    placed = [(int((end - chunk.length / 2) // goal), chunk) for chunk, end in zip(chunks, ends, strict=True)]
    for _, group in groupby(placed, key=itemgetter(0)):
        yield [chunk for _, chunk in group]


def _without(events: pa.RecordBatch, skipped: Sequence[int]) -> pa.RecordBatch:
    if not skipped:
        return events
    return events.filter(pc.invert(pc.is_in(events["seq"], pa.array(skipped, pa.int64()))))
