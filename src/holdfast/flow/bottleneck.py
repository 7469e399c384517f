"""Where a graph is held up, read from how full its edges were. Pure.

An operator that cannot keep up has a full edge before it and an empty one behind it. Edges further up fill after that,
because their senders wait; so of all that are full, the one furthest downstream is the one before the bottleneck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

FULL = 0.95


@dataclass(frozen=True, slots=True)
class OccupancySample:
    """How full every edge was at one moment."""

    at: float
    """Seconds."""
    fullness: Mapping[str, float]
    """The share of its capacity that was taken, by edge."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """An edge that was full, and the operator that does not keep up with it."""

    edge: str
    operator: str
    fullness: float
    """On average over the last third of the samples."""


def gradient(samples: Sequence[OccupancySample], edges: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """How full each edge was on average in the last third of the time, in the order of the edges given."""
    if not samples:
        return tuple((edge, 0.0) for edge in edges)
    first, last = samples[0].at, samples[-1].at
    late = [sample for sample in samples if sample.at >= first + (last - first) * 2 / 3]
    return tuple((edge, round(fmean(sample.fullness[edge] for sample in late), 6)) for edge in edges)


def find_bottleneck(samples: Sequence[OccupancySample], consumers: Mapping[str, str]) -> Bottleneck | None:
    """What holds a graph up; None while nothing does.

    :param consumers: who receives on each edge; the edges in the order of the flow.
    """
    full = [(edge, mean) for edge, mean in gradient(samples, tuple(consumers)) if mean >= FULL]
    return Bottleneck(full[-1][0], consumers[full[-1][0]], full[-1][1]) if full else None
