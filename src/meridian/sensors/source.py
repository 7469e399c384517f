"""What a source of observations promises, whatever it speaks: the one contract of radar, optical archive and links.

A source never waits while it holds something that nobody else has: what `next` returns is handed over whole, and a
cancelled `next` has taken nothing. So a source may be cancelled at any await and asked again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from meridian.sensors.observation import SourceKind
from meridian.sensors.screening import Screen, Screened

Nanoclock = Callable[[], int]
"""Gives the time now, in nanoseconds since 1970."""

_SECOND = 1_000_000_000


class Replay(Enum):
    """Whether what was sent can be had again."""

    NEVER = "never"
    FOR_A_DAY = "for 24 hours"


class Ordering(Enum):
    """In which order observations come."""

    NONE = "none"
    BY_TIME = "by time within an answer"
    PER_SENSOR = "per sensor"


class Delivery(Enum):
    """How often an observation comes from the outside."""

    AT_MOST_ONCE = "at most once"
    AT_LEAST_ONCE = "at least once"


@dataclass(frozen=True, slots=True)
class Traits:
    """What a source can be relied on for. A pipeline is never better than the weakest of its sources."""

    replay: Replay
    ordering: Ordering
    delivery: Delivery
    max_lateness_ns: int
    """How long after its time an observation may come."""


TRAITS = {
    SourceKind.RADAR: Traits(Replay.NEVER, Ordering.NONE, Delivery.AT_MOST_ONCE, _SECOND // 10),
    SourceKind.OPTICAL: Traits(Replay.FOR_A_DAY, Ordering.BY_TIME, Delivery.AT_LEAST_ONCE, 30 * _SECOND),
    SourceKind.INTER_SATELLITE_LINK: Traits(Replay.NEVER, Ordering.PER_SENSOR, Delivery.AT_LEAST_ONCE, 10 * _SECOND),
}


def _nothing() -> None:
    """Nobody waits for an answer."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What came in together."""

    screened: Screened
    raw: bytes
    """The bytes of the wire."""
    taken_ns: int
    mark: int | None = None
    """Where a source that can be asked again stands after it; None for the others."""
    settled: Callable[[], None] = field(default=_nothing)
    """To be called once all of it is durable, and not before."""

    @property
    def count(self) -> int:
        """How many observations and refusals it is."""
        return len(self.screened.good) + len(self.screened.refused)


class ObservationSource(ABC):
    """Something that observations come from; used by one task at a time."""

    kind: ClassVar[SourceKind]
    name: str

    def __init__(self, name: str, screen: Screen = Screen()) -> None:  # noqa: B008 (a frozen value)
        self.name = name
        self.screen = screen
        """What everything that it takes passes first."""
        self.drops: Counter[str] = Counter()
        """What never became a record, by cause: counted, since nothing of it is kept."""
        self.alarms: dict[str, str] = {}
        """What somebody has to know, by name."""

    @property
    def traits(self) -> Traits:
        """What it can be relied on for."""
        return TRAITS[self.kind]

    @property
    @abstractmethod
    def where(self) -> str:
        """Where it listens, or whom it asks."""

    @property
    def mark(self) -> int | None:
        """Where a source that can be asked again stands; None for the others."""
        return None

    @abstractmethod
    async def open(self) -> None:
        """Begin; `SourceUnavailable` when that is not possible now."""

    @abstractmethod
    async def next(self) -> Taken | None:
        """What came; waits until something does. None when the source has ended, after all that it still had."""

    @abstractmethod
    def stop(self) -> None:
        """Take in nothing new: `next` gives what is left, and then None."""

    @abstractmethod
    async def close(self) -> None:
        """Give up sockets and connections; what was taken and settled is answered when this returns."""

    def quiet_until_ns(self, now_ns: int) -> int | None:
        """Until when silence means that there was nothing; None when it may as well mean that nobody listens."""
        return now_ns

    def gauges(self) -> dict[str, float]:
        """Figures of its own, by name."""
        return {}
