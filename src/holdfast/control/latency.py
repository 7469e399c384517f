"""How long events take from the inbox to a sink's commit. Pure: it is told what was published and where cursors stand.

A batch counts as long as its oldest event waited. A lane's cursor passes a batch when the sink has committed it, and is
looked at again and again, so a latency is never told shorter than it was, and longer by at most one look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

_SAMPLES = 512
_MOST_PENDING = 10_000


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from capture to the sink's commit, over the last batches."""

    batches: int = 0
    p50: float = 0.0
    p99: float = 0.0
    worst: float = 0.0


class Latencies:
    """What is known of every lane, in bounded memory."""

    def __init__(self) -> None:
        self._captured: dict[int, datetime] = {}
        self._cursors: dict[str, int] = {}
        self._samples: dict[str, deque[float]] = {}

    def published(self, oseq: int, captured: datetime) -> None:
        """The oldest event of this batch was captured then."""
        self._captured[oseq] = captured
        if len(self._captured) > _MOST_PENDING:
            del self._captured[next(iter(self._captured))]

    def stands(self, lane: str, cursor: int, now: datetime) -> None:
        """A lane has resolved everything up to here. Where it stands when it is first seen says nothing."""
        before = self._cursors.get(lane, cursor)
        self._cursors[lane] = cursor
        for oseq in range(before + 1, cursor + 1):
            if oseq in self._captured:
                taken = (now - self._captured[oseq]).total_seconds()
                self._samples.setdefault(lane, deque(maxlen=_SAMPLES)).append(max(0.0, taken))

    def settle(self) -> None:
        """Forget the batches that every lane has."""
        through = min(self._cursors.values(), default=0)
        for oseq in [known for known in self._captured if known <= through]:
            del self._captured[oseq]

    def of(self, lane: str) -> Latency:
        """What the last batches of a lane took."""
        return latency_of(self._samples.get(lane, ()))


def latency_of(seconds: Iterable[float]) -> Latency:
    """What so many batches took."""
    ordered = sorted(seconds)
    if not ordered:
        return Latency()
    last = len(ordered) - 1
    return Latency(len(ordered), ordered[last // 2], ordered[last * 99 // 100], ordered[-1])
