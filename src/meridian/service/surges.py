"""When dead letters come so much faster than before that somebody has to look. Pure.

A surge is a rate, over the last minute, of more than ten times what was usual, for more than five minutes. What was
usual is learnt for five minutes first, and never from the surge itself. Each kind has a rate below which nothing is a
surge, and so have all kinds together: a few unreadable frames mean more than many unknown objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from meridian.service.seen import DeadLetters

SECOND = 1_000_000_000
ALL = "all kinds"


@dataclass(frozen=True, slots=True)
class SurgeLimits:
    """When a rate is a surge.

    :param times: so many times the usual rate.
    :param lasting_s: for so long.
    :param quiet: by kind, so many a minute are no surge; `otherwise` for those that are not named.
    """

    times: float = 10.0
    lasting_s: float = 300.0
    quiet: Mapping[str, float] = field(
        default_factory=lambda: {"Deserialization": 1.0, "SchemaMismatch": 1.0, "ValidationFailed": 6.0}
    )
    otherwise: float = 30.0


@dataclass(frozen=True, slots=True)
class Surge:
    """A kind that comes too fast.

    :param usual: so many a minute, before; `now`, so many a minute.
    :param mostly: the place and kind of which most are.
    """

    kind: str
    since_ns: int
    usual: float
    now: float
    mostly: tuple[str, str]


_Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Surges:
    """What was counted over the last hour, and the kinds that come too fast."""

    limits: SurgeLimits = field(default_factory=SurgeLimits)
    samples: tuple[tuple[int, _Counts], ...] = ()
    high: Mapping[str, Surge] = field(default_factory=dict)

    def after(self, letters: Sequence[DeadLetters], now_ns: int) -> Surges:
        """When this is what was given up until now."""
        counts = {(each.operator, each.kind): each.count for each in letters}
        samples = _thinned(self.samples, now_ns)
        before = _at_or_before(samples, now_ns - _RECENT_NS)
        is_known = before is not None and before[0] - samples[0][0] >= _LEARNT_NS
        high = dict(self._high(samples[0], before, (now_ns, counts))) if before and is_known else {}
        return Surges(self.limits, (*samples, (now_ns, counts)), high)

    def lasting(self, now_ns: int) -> list[Surge]:
        """Those that have lasted for too long; the fastest first, and all kinds together only if no single one has."""
        long = [each for each in self.high.values() if now_ns - each.since_ns > self.limits.lasting_s * SECOND]
        single = [each for each in long if each.kind != ALL]
        return sorted(single or long, key=lambda each: -each.now)

    def _high(
        self, first: tuple[int, _Counts], before: tuple[int, _Counts], now: tuple[int, _Counts]
    ) -> Iterator[tuple[str, Surge]]:
        usual, recent = _rates(first, before), _rates(before, now)
        if not recent:
            return
        mostly = max(recent, key=lambda where: (recent[where], where))
        for kind in [*sorted({kind for _, kind in recent}), ALL]:
            known = self.high.get(kind)
            normal = known.usual if known else _of_kind(usual, kind)
            rate = _of_kind(recent, kind)
            if rate > max(self.limits.times * normal, self._quiet(kind)):
                its_most = mostly if kind in (ALL, mostly[1]) else _most_of(recent, kind)
                yield kind, Surge(kind, known.since_ns if known else now[0], normal, rate, its_most)

    def _quiet(self, kind: str) -> float:
        return self.limits.quiet.get(kind, self.limits.otherwise)


_RECENT_NS = 60 * SECOND
_LEARNT_NS = 300 * SECOND
_EVERY_NS = 10 * SECOND
_MEMORY_NS = 3600 * SECOND


def _thinned(samples: tuple[tuple[int, _Counts], ...], now_ns: int) -> tuple[tuple[int, _Counts], ...]:
    """Without what is older than an hour; the last one only when it is some seconds behind the one before."""
    kept = tuple(each for each in samples if each[0] >= now_ns - _MEMORY_NS)
    return kept[:-1] if len(kept) > 1 and kept[-1][0] - kept[-2][0] < _EVERY_NS else kept


def _at_or_before(samples: tuple[tuple[int, _Counts], ...], when_ns: int) -> tuple[int, _Counts] | None:
    return next((each for each in reversed(samples) if each[0] <= when_ns), None)


def _rates(start: tuple[int, _Counts], end: tuple[int, _Counts]) -> dict[tuple[str, str], float]:
    """How many a minute between two samples, by place and kind."""
    minutes = (end[0] - start[0]) / (60 * SECOND)
    return {where: (count - start[1].get(where, 0)) / minutes for where, count in end[1].items()} if minutes else {}


def _of_kind(rates: Mapping[tuple[str, str], float], kind: str) -> float:
    return sum(rate for (_, its), rate in rates.items() if kind in (ALL, its))


def _most_of(rates: Mapping[tuple[str, str], float], kind: str) -> tuple[str, str]:
    return max((where for where in rates if where[1] == kind), key=lambda where: (rates[where], where))
