"""How long observations take: to the edge, to being judged, and to the alert. Pure.

Three times are known of an observation. A sensor says when it was made, the edge writes down when it came in, and the
outbox of fusion keeps when the batch with it was published; rows of fusion themselves have no clock in them, so that a
batch that is run again comes to the same rows. From being made to coming in is the lag of the source; from coming in to
being published is the lag of the pipeline, and counts for a batch as long as the oldest of its observations took.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from meridian.sensors.meters import LAG_BOUNDS_S

if TYPE_CHECKING:
    from meridian.service.values import Progress, SourceProgress

TARGET_S = 30.0
"""An alert is to be told so soon after the observation that raised it."""


@dataclass(frozen=True, slots=True)
class Lags:
    """A histogram of seconds in the buckets of `LAG_BOUNDS_S`, with one more for everything above."""

    counts: tuple[int, ...] = (0,) * (len(LAG_BOUNDS_S) + 1)
    total_s: float = 0.0

    def with_(self, seconds: float) -> Lags:
        """One more."""
        place = bisect_left(LAG_BOUNDS_S, max(seconds, 0.0))
        counts = (*self.counts[:place], self.counts[place] + 1, *self.counts[place + 1 :])
        return Lags(counts, self.total_s + max(seconds, 0.0))


@dataclass(frozen=True, slots=True)
class Delay:
    """From observation to alert, over the newest batches that said something: early words count like all others.

    A batch counts as long as the last of its observations to come took (at the 99th percentile of its network), from
    being made until the words were published: so it is never told shorter than it was.

    :param batches: how many said something.
    :param within: how many of them did so in time.
    """

    batches: int = 0
    within: int = 0
    p50_s: float = 0.0
    p99_s: float = 0.0
    worst_s: float = 0.0
    target_s: float = TARGET_S

    @property
    def is_met(self) -> bool:
        """Whether every alert was told in time."""
        return self.within == self.batches


@dataclass(frozen=True, slots=True)
class Passing:
    """The lags of the batches that were looked at, by network. Each batch counts once."""

    newest: int = -1
    """The last batch that was counted."""
    lags: Mapping[str, Lags] = field(default_factory=dict)

    def after(self, history: Sequence[Progress]) -> Passing:
        """When these are the newest batches, oldest first."""
        lags = dict(self.lags)
        for batch in history:
            for source in _fresh(batch) if batch.batch > self.newest else ():
                lags[source.source] = lags.get(source.source, Lags()).with_(source.pipeline_lag_s)
        return Passing(max((batch.batch for batch in history), default=self.newest), lags)


def timed(history: Sequence[Progress], judged_ns: Mapping[int, int]) -> list[Progress]:
    """The batches with when each was judged, and with the lags that follow from it.

    :param history: oldest first.
    :param judged_ns: by batch; of some nobody knows any more.
    """
    return [_timed(each, judged_ns.get(each.batch), judged_ns.get(each.batch - 1)) for each in history]


def delay_of(history: Sequence[Progress]) -> Delay:
    """What the batches that said something took, and whether that was in time."""
    spoke = [now for before, now in pairwise(history) if now.told + now.retracted > before.told + before.retracted]
    known = [max(each.source_lag_s + each.pipeline_lag_s for each in fresh) for fresh in map(_fresh, spoke) if fresh]
    if not known:
        return Delay()
    ordered, last = sorted(known), len(known) - 1
    within = sum(seconds <= TARGET_S for seconds in ordered)
    return Delay(len(ordered), within, ordered[last // 2], ordered[last * 99 // 100], ordered[-1])


def _timed(batch: Progress, judged_ns: int | None, before_ns: int | None) -> Progress:
    if judged_ns is None:
        return batch
    sources = [
        replace(each, pipeline_lag_s=max(judged_ns - each.received_ns, 0) / 1e9) if each.received_ns else each
        for each in batch.sources
    ]
    seconds = 0.0 if before_ns is None else (judged_ns - before_ns) / 1e9
    return replace(batch, at_ns=batch.at_ns or judged_ns, judged_ns=judged_ns, sources=sources, seconds=seconds)


def _fresh(batch: Progress) -> list[SourceProgress]:
    """The networks that the batch has observations of, when it is known how long they took."""
    return [each for each in batch.sources if each.received_ns is not None and batch.judged_ns is not None]
