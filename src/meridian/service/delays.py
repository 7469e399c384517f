"""How long observations take: to the edge, to being judged, and to the alert. Pure.

Three times are known of an observation. A sensor says when it was made, the edge writes down when it came in, and the
outbox of fusion keeps when the batch with it was published; rows of fusion themselves have no clock in them, so that a
batch that is run again comes to the same rows. From being made to coming in is the lag of the source; from coming in to
being published is the lag of the pipeline, and counts for a batch as long as the oldest of its observations took.

The delay of an alert is that of one observation: the one that had the word said, which the word names.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import ceil
from typing import TYPE_CHECKING

from meridian.sensors.meters import LAG_BOUNDS_S

if TYPE_CHECKING:
    from meridian.service.outages import Outage
    from meridian.service.values import Progress, SourceProgress, WordSaid

TARGET_S = 30.0
"""An alert is to be told so soon after the observation that raised it."""
LATELY_NS = 600 * 1_000_000_000
"""So long a word counts in the delay of alerts."""


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


class Why(Enum):
    """What had a word said."""

    RAISED = "raised"
    """The first word on a pair in a window: this is what somebody waits for."""
    CORRECTED = "corrected"
    """An observation that changed what had been said."""
    CLOSED = "closed"
    """Nothing but that the window was closed, so that what was said early could be said exactly."""


@dataclass(frozen=True, slots=True)
class Took:
    """How long one word took from its observation on.

    :param source_s: until the observation came in; `pipeline_s`, from then until the word was published.
    :param outages: in which it waited.
    """

    told_ns: int
    why: Why
    source_s: float
    pipeline_s: float
    outages: tuple[Outage, ...] = ()

    @property
    def whole_s(self) -> float:
        """Both together."""
        return self.source_s + self.pipeline_s

    @property
    def is_late_by_outage(self) -> bool:
        """Whether it was told late, and would have been told in time had fusion not been down."""
        return self.whole_s > TARGET_S >= self.without_outages.whole_s

    @property
    def without_outages(self) -> Took:
        """The same without the time in which fusion was down."""
        came_ns = self.told_ns - round(self.pipeline_s * 1e9)
        made_ns = came_ns - round(self.source_s * 1e9)
        before_s = sum(each.within_ns(made_ns, came_ns) for each in self.outages) / 1e9
        after_s = sum(each.within_ns(came_ns, self.told_ns) for each in self.outages) / 1e9
        return replace(self, source_s=self.source_s - before_s, pipeline_s=self.pipeline_s - after_s)

    @classmethod
    def of(cls, word: WordSaid, told_ns: int, outages: Sequence[Outage] = ()) -> Took:
        """A word without a cause is timed from the newest observation it is from; all of that counts as ours."""
        made = word.newest_ns if word.caused_ns is None else word.caused_ns
        came = made if word.received_ns is None else max(word.received_ns, made)
        waited = tuple(each for each in outages if each.within_ns(made, told_ns))
        return cls(told_ns, _why(word), (came - made) / 1e9, max(told_ns - came, 0) / 1e9, waited)


@dataclass(frozen=True, slots=True)
class Spread:
    """How seconds are spread."""

    p50_s: float = 0.0
    p99_s: float = 0.0
    worst_s: float = 0.0

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Spread:
        """Of these; all is 0 when there are none. A percentile is one of them, and never told shorter than it is."""
        ordered = sorted(seconds)
        return cls(*(ordered[ceil(len(ordered) * part) - 1] for part in (0.5, 0.99, 1.0))) if ordered else cls()


@dataclass(frozen=True, slots=True)
class Delay:
    """From observation to alert, over the words of the last ten minutes: early words count like all others.

    A word counts from the observation that had it said. What is said only because a window was closed has waited for
    the slowest source, as it is meant to: it is measured too, and no target holds for it.

    :param words: how many had an observation behind them, and `within`, how many of them were told in time.
    :param whole: of these words; `source` and `pipeline` are the two parts of it.
    :param late_by_outage: how many were late for no other reason than that fusion was down, in one of `outages`.
    :param otherwise: the delay of the other words without outages; None when no outage held one up.
    :param raised: the whole of those that are first words.
    :param closed: of the words that only a closed window is behind.
    """

    words: int = 0
    within: int = 0
    whole: Spread = Spread()
    source: Spread = Spread()
    pipeline: Spread = Spread()
    raised: Spread = Spread()
    closed: Spread = Spread()
    target_s: float = TARGET_S
    late_by_outage: int = 0
    outages: Sequence[Outage] = ()
    otherwise: Delay | None = None

    @classmethod
    def of(cls, words: Sequence[Took]) -> Delay:
        """Of these words."""
        held_up = [each for each in words if each.why is not Why.CLOSED and each.is_late_by_outage]
        delay = cls._of(words)
        if not held_up:
            return delay
        return replace(
            delay,
            late_by_outage=len(held_up),
            outages=sorted({outage for each in held_up for outage in each.outages}),
            otherwise=cls._of([each.without_outages for each in words if not each.is_late_by_outage]),
        )

    @classmethod
    def _of(cls, words: Sequence[Took]) -> Delay:
        caused = [each for each in words if each.why is not Why.CLOSED]
        return cls(
            words=len(caused),
            within=sum(each.whole_s <= TARGET_S for each in caused),
            whole=Spread.of(each.whole_s for each in caused),
            source=Spread.of(each.source_s for each in caused),
            pipeline=Spread.of(each.pipeline_s for each in caused),
            raised=Spread.of(each.whole_s for each in caused if each.why is Why.RAISED),
            closed=Spread.of(each.whole_s for each in words if each.why is Why.CLOSED),
        )

    @property
    def is_met(self) -> bool:
        """Whether all but one word in a hundred were told in time."""
        return self.whole.p99_s <= self.target_s


@dataclass(frozen=True, slots=True)
class Spoken:
    """The words of the last ten minutes, each with how long it took. Each counts once."""

    newest: int = -1
    """The last batch whose words were counted."""
    words: Sequence[Took] = ()

    def after(
        self, words: Iterable[WordSaid], history: Sequence[Progress], now_ns: int, outages: Sequence[Outage] = ()
    ) -> Spoken:
        """When these were said, too. Those of a batch of which nobody knows yet when it was published wait for it.

        :param words: of later batches than the newest that was counted.
        :param history: the newest batches.
        :param outages: between these batches.
        """
        told_ns = {batch.batch: batch.judged_ns for batch in history if batch.judged_ns is not None}
        fresh = [word for word in words if word.batch in told_ns]
        took = [*self.words, *(Took.of(word, told_ns[word.batch], outages) for word in fresh)]
        newest = max((word.batch for word in fresh), default=self.newest)
        return Spoken(newest, [each for each in took if each.told_ns >= now_ns - LATELY_NS])


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


def _why(word: WordSaid) -> Why:
    if word.sequence == 0:
        return Why.RAISED
    return Why.CLOSED if word.caused_ns is None else Why.CORRECTED


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
