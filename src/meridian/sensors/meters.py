"""What is known about a source while it runs: rate, lag, and where every record went. No I/O, and no clock."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import exp
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from meridian.sensors.sightings import Sightings
    from meridian.sensors.source import Taken

RATE_SECONDS = 30.0
LAG_BOUNDS_S: tuple[float, ...] = tuple(0.001 * 2.0**step for step in range(18))
"""Upper bounds of the buckets of a lag, from a millisecond to two minutes; one more takes everything above."""
_BOUNDS_NS = np.array([round(bound * 1e9) for bound in LAG_BOUNDS_S], np.int64)


class Rate:
    """Events a second, as an exponentially weighted mean over about 30 seconds."""

    def __init__(self, seconds: float = RATE_SECONDS) -> None:
        self._seconds = seconds
        self._value = 0.0
        self._weight = 0.0
        self._at: float | None = None

    def count(self, events: int, now: float) -> None:
        """So many came since the last time."""
        self._fade(now)
        self._value += events / self._seconds

    def value(self, now: float) -> float:
        """The rate; unbiased also before 30 seconds have passed."""
        self._fade(now)
        return self._value / self._weight if self._weight else 0.0

    def _fade(self, now: float) -> None:
        if self._at is None:
            self._at = now
            return
        faded = exp(-(now - self._at) / self._seconds)
        self._value *= faded
        self._weight = 1 - (1 - self._weight) * faded
        self._at = now


@dataclass(slots=True)
class Lags:
    """How long after their time observations came in: a histogram, and how many came before it."""

    counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(_BOUNDS_NS) + 1, np.int64))
    total_s: float = 0.0
    negative: int = 0
    """Observations from the future: the sensor's clock is ahead of ours. Their lag counts as 0."""

    def record(self, lags_ns: npt.NDArray[np.int64]) -> None:
        """Count the lags of many observations."""
        self.negative += int(np.count_nonzero(lags_ns < 0))
        lags_ns = np.maximum(lags_ns, 0)
        self.counts += np.bincount(np.searchsorted(_BOUNDS_NS, lags_ns), minlength=len(self.counts))
        self.total_s += float(lags_ns.sum()) / 1e9

    def percentile(self, percent: float) -> float:
        """The upper bound, in seconds, of the bucket that holds it; 0 when there is none yet."""
        count = int(self.counts.sum())
        if not count:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.counts), max(1, count * percent / 100)))
        return LAG_BOUNDS_S[min(bucket, len(LAG_BOUNDS_S) - 1)]


@dataclass(slots=True)
class Meter:
    """The figures of one source."""

    rate: Rate = field(default_factory=Rate)
    lags: Lags = field(default_factory=Lags)
    taken: int = 0
    """Observations and refusals that came in."""
    durable: int = 0
    """Observations that are in the log."""
    repeated: int = 0
    """Observations that were in the log before, and were left out."""
    outside: int = 0
    """Observations outside of the area of interest."""
    refused: Counter[str] = field(default_factory=Counter)
    """By kind."""
    suppressed: Counter[str] = field(default_factory=Counter)
    """Of the refused, those without a dead letter, because there were too many at once; by kind."""
    heartbeats: int = 0
    retries: int = 0
    """How often something was given to a log again, because that had no room before."""
    bytes_written: int = 0
    """Bytes of observations, as they lie in the log."""
    newest_ns: int = 0
    """The newest time of an observation; one from the future counts as of when it was received."""
    sightings: Sightings | None = None
    """Where they are to be counted."""

    def note_taken(self, taken: Taken, now: float) -> None:
        """This came in."""
        good = taken.screened.good
        self.rate.count(len(good), now)
        self.taken += taken.count + taken.screened.outside
        self.outside += taken.screened.outside
        self.refused.update(refusal.kind.value for refusal in taken.screened.refused)
        if len(good):
            seen, received = good.records["sensor_ts_ns"], good.records["ingest_ts_ns"]
            self.lags.record(received - seen)
            self.newest_ns = max(self.newest_ns, int(np.minimum(seen, received).max()))
        if self.sightings is not None:
            self.sightings.see(good, taken.taken_ns)
