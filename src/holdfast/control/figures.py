"""What the batches of a run say about how fast a pipeline is, and where their time goes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import fmean

from holdfast.control.latency import Latency, latency_of


@dataclass(frozen=True, slots=True)
class BatchSeen:
    """One batch on its way."""

    events: int
    rows: int
    nbytes: int
    first: datetime
    """When its oldest event was captured."""
    last: datetime
    """When its newest was."""
    published: datetime
    committed: Mapping[str, datetime]
    """When each sink had it; a sink that did not have it yet is not there."""


@dataclass(frozen=True, slots=True)
class Figures:
    """How fast, how late, and where the time goes."""

    seconds: float
    batches: int
    events: int
    rows: int
    nbytes: int
    """Of the rows, as the outbox holds them."""
    events_per_second: float
    rows_per_second: float
    megabytes_per_second: float
    latency: Mapping[str, Latency]
    """From the capture of a batch's oldest event to the commit of each sink.

    Batches with events from before the beginning, which waited for Spark to start, count only when there are no others.
    """
    spent: Mapping[str, float]
    """Seconds that a batch spent on average: waiting in the inbox, in Spark, and on its way to each sink."""
    busy: Mapping[str, float]
    """The share of the time in which Spark, and each sink, had a batch at hand. The one near 1 is the bottleneck."""


def figures(batches: Sequence[BatchSeen], began: datetime, ended: datetime) -> Figures:
    """The figures of the batches that were published between two moments; there is at least one.

    Spark is taken to begin with a batch when the one before is published and its newest event is captured.
    """
    seconds = (ended - began).total_seconds()
    events, rows = sum(batch.events for batch in batches), sum(batch.rows for batch in batches)
    nbytes = sum(batch.nbytes for batch in batches)
    starts = [max(batch.last, before) for batch, before in zip(batches, _before(batches, began), strict=True)]
    in_spark = [_seconds(start, batch.published) for start, batch in zip(starts, batches, strict=True)]
    waiting = [_seconds(batch.first, start) for start, batch in zip(starts, batches, strict=True)]
    lanes = list(dict.fromkeys(name for batch in batches for name in batch.committed))
    reached = {name: [batch for batch in batches if name in batch.committed] for name in lanes}
    fresh = {name: [b for b in reached[name] if b.first >= began] or reached[name] for name in lanes}
    return Figures(
        seconds=seconds,
        batches=len(batches),
        events=events,
        rows=rows,
        nbytes=nbytes,
        events_per_second=events / seconds,
        rows_per_second=rows / seconds,
        megabytes_per_second=nbytes / seconds / 1e6,
        latency={name: latency_of(_seconds(b.first, b.committed[name]) for b in fresh[name]) for name in lanes},
        spent={
            "inbox": fmean(waiting),
            "spark": fmean(in_spark),
            **{
                f"sink {name}": fmean(_seconds(b.published, b.committed[name]) for b in reached[name]) for name in lanes
            },
        },
        busy={
            "spark": sum(in_spark) / seconds,
            **{f"sink {name}": sum(_at_hand(reached[name], name)) / seconds for name in lanes},
        },
    )


def _before(batches: Sequence[BatchSeen], began: datetime) -> list[datetime]:
    """When the batch before each was published."""
    return [began, *(batch.published for batch in batches[:-1])]


def _at_hand(batches: Sequence[BatchSeen], lane: str) -> list[float]:
    """For how long a lane had each batch at hand, and none before it."""
    first = [_seconds(batches[0].published, batches[0].committed[lane])]
    return first + [
        _seconds(max(batch.published, before.committed[lane]), batch.committed[lane])
        for before, batch in pairwise(batches)
    ]


def _seconds(start: datetime, end: datetime) -> float:
    return max(0.0, (end - start).total_seconds())
