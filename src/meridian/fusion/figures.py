"""What is counted of the observations of each sensor network on their way: how many, and how late. Pure.

There is no clock in it: a batch that is run again must come to the same rows. How long observations took to get to the
tables is told by the tables, which know when they were written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from meridian.fusion.exact import Integers
from meridian.sensors import ObservationColumns, SourceKind
from meridian.sensors.meters import LAG_BOUNDS_S

_BOUNDS = np.rint(np.array(LAG_BOUNDS_S) * 1e9).astype(np.int64)
BUCKETS = len(_BOUNDS) + 1
_LONGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Of one network; those of two batches can be added.

    :param ahead: observations from the future: the sensor's clock is ahead of ours. Their lag counts as 0.
    :param source_lags: how long after their time observations came in, in the buckets of `LAG_BOUNDS_S`.
    :param oldest: when the first of them was received; `newest`, when the last was.
    """

    observations: int
    ahead: int
    source_lags: Integers
    oldest: int
    newest: int

    @classmethod
    def none(cls) -> Figures:
        """Of nothing."""
        return cls(0, 0, np.zeros(BUCKETS, np.int64), _LONGEST, -_LONGEST)

    @classmethod
    def of(cls, made: Integers, received: Integers) -> Figures:
        """Of observations by when they were made and received; there is at least one."""
        lag = received - made
        return cls(len(made), int((lag < 0).sum()), _counted(lag), int(received.min()), int(received.max()))

    def __add__(self, other: Figures) -> Figures:
        """Of both."""
        return Figures(
            self.observations + other.observations,
            self.ahead + other.ahead,
            self.source_lags + other.source_lags,
            min(self.oldest, other.oldest),
            max(self.newest, other.newest),
        )


BySource = Mapping[str, Figures]


def figures_of(seen: ObservationColumns) -> dict[str, Figures]:
    """Of each network in these columns, which hold observations only."""
    records, found = seen.records, dict[str, Figures]()
    for kind in SourceKind:
        of = records[records["kind"] == kind]
        if len(of):
            found[kind.prefix] = Figures.of(of["sensor_ts_ns"], of["ingest_ts_ns"])
    return found


def added(one: BySource, other: BySource) -> dict[str, Figures]:
    """Of two batches together."""
    both = dict(one)
    for source, figures in other.items():
        both[source] = both.get(source, Figures.none()) + figures
    return both


def percentile(counts: Integers, percent: float) -> float:
    """The upper bound, in seconds, of the bucket that holds it; 0 when nothing was counted."""
    total = int(counts.sum())
    if not total:
        return 0.0
    bucket = int(np.searchsorted(np.cumsum(counts), max(1.0, total * percent / 100)))
    return float(LAG_BOUNDS_S[min(bucket, len(LAG_BOUNDS_S) - 1)])


def _counted(lags: Integers) -> Integers:
    places = np.searchsorted(_BOUNDS, np.maximum(lags, 0))
    counted: Integers = np.bincount(places, minlength=BUCKETS).astype(np.int64)
    return counted
