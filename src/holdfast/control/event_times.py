"""How new the events are that sources have brought and sinks have. Pure: it is told what was seen.

An event says when it happened, which may be long before it was captured. What is newest never becomes older, so events
that come out of order do no harm.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import datetime

_MOST_PENDING = 10_000


class EventTimes:
    """The newest event times, in bounded memory."""

    def __init__(self) -> None:
        self._batches: list[int] = []
        self._times: list[datetime] = []
        """The newest event up to each of the batches."""
        self._lanes: dict[str, datetime] = {}
        self._sources: dict[str, tuple[int, datetime | None]] = {}

    def published(self, oseq: int, newest: datetime) -> None:
        """The newest event of this batch happened then."""
        self._times.append(max(newest, self._times[-1]) if self._times else newest)
        self._batches.append(oseq)
        del self._batches[:-_MOST_PENDING], self._times[:-_MOST_PENDING]

    def stands(self, lane: str, cursor: int) -> None:
        """A lane has everything up to here."""
        place = bisect_right(self._batches, cursor)
        if place:
            self._lanes[lane] = self._times[place - 1]

    def of(self, lane: str) -> datetime | None:
        """When the newest event happened that a lane has brought; None when that is not known."""
        return self._lanes.get(lane)

    def captured(self, source: str, end: int, newest: datetime | None) -> None:
        """The newest event of a source, up to here, happened then; None when it has no time."""
        before = self.of_source(source)
        self._sources[source] = end, max((time for time in (before, newest) if time is not None), default=None)

    def knows(self, source: str, end: int) -> bool:
        """Whether somebody has looked up to here."""
        return end == 0 or self._sources.get(source, (0, None))[0] == end

    def of_source(self, source: str) -> datetime | None:
        """When the newest event of a source happened; None when that is not known."""
        return self._sources.get(source, (0, None))[1]
