"""Looks at the edges of a graph ten times a second, and remembers what it saw for half a minute."""

from __future__ import annotations

from collections import deque
from math import exp
from typing import TYPE_CHECKING

from holdfast.flow.bottleneck import OccupancySample, find_bottleneck
from holdfast.flow.health import Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.flow.bottleneck import Bottleneck
    from holdfast.flow.ports import EdgeStats
    from holdfast.flow.timer import Timer

MEMORY = 30.0
"""Seconds that rates look back, by and large."""


class EwmaRate:
    """Items a second, where what happened longer ago counts less: by a factor of e every 30 seconds."""

    def __init__(self, at: float, count: int) -> None:
        self._at = at
        self._count = count
        self.rate = 0.0

    def update(self, at: float, count: int) -> None:
        """So many items there were until now, ever."""
        passed = at - self._at
        if passed > 0:
            now = (count - self._count) / passed
            self.rate = now + (self.rate - now) * exp(-passed / MEMORY)
            self._at, self._count = at, count


class Sampler:
    """The samples of one graph; made by `BuiltGraph.sampler`.

    :param consumers: who receives on each edge; the edges in the order of the flow.
    :param sources: the edge of each source.
    """

    def __init__(
        self,
        stats: Callable[[], Sequence[EdgeStats]],
        *,
        consumers: Mapping[str, str],
        sources: Mapping[str, str],
        timer: Timer,
        every: float = 0.1,
        keep: float = 30.0,
    ) -> None:
        self._stats = stats
        self._consumers = consumers
        self._timer = timer
        self._every = every
        self._samples: deque[OccupancySample] = deque(maxlen=max(1, round(keep / every)))
        self._sources = sources
        now = timer.monotonic()
        self._rates = {edge.edge: EwmaRate(now, edge.accepted) for edge in stats()}
        self._dropped = {edge.edge: edge.dropped for edge in stats()}

    async def run(self) -> None:
        """Sample until it is cancelled."""
        while True:
            self.sample()
            await self._timer.sleep(self._every)

    def sample(self) -> None:
        """Look once."""
        now, stats = self._timer.monotonic(), self._stats()
        self._samples.append(OccupancySample(now, {edge.edge: self._fullness(edge) for edge in stats}))
        for edge in stats:
            self._rates[edge.edge].update(now, edge.accepted)
            self._dropped[edge.edge] = edge.dropped

    def _fullness(self, edge: EdgeStats) -> float:
        """One that dropped something since the last look was full in between."""
        return 1.0 if edge.dropped > self._dropped[edge.edge] else edge.fullness

    @property
    def samples(self) -> tuple[OccupancySample, ...]:
        """What is remembered, oldest first."""
        return tuple(self._samples)

    def bottleneck(self) -> Bottleneck | None:
        """What holds the graph up now; None while nothing does."""
        return find_bottleneck(self.samples, self._consumers)

    def metrics(self) -> tuple[Metric, ...]:
        """How much each source brings, in items a second."""
        return tuple(
            Metric("ingest_rate", self._rates[edge].rate, {"source": source}) for source, edge in self._sources.items()
        )
