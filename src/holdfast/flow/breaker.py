"""Keeps a caller from hammering a sink or service that is down. Pure: the time is passed in.

    closed ─ too many of the last calls failed ─▶ open ─ cool-down over ─▶ half-open ─ the one probe succeeds ─▶ closed
                                                   ▲──────────────────────────┘ it fails

Only failures of the one who is called count. A sink that refuses rows has answered, so it is well.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple

from holdfast.model.errors import InvalidFlowPolicy


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When a breaker opens, and for how long."""

    window: int = 20
    """How many of the last calls are looked at."""
    minimum: int = 5
    """With fewer calls than this, the rate says nothing."""
    failure_rate: float = 0.5
    """The share of failed calls at which the breaker opens."""
    cool_down: float = 10.0
    """Seconds from opening to the probe."""
    within: float = inf
    """Seconds after which a call is looked at no more."""

    def __post_init__(self) -> None:
        is_counted = 1 <= self.minimum <= self.window and 0 < self.failure_rate <= 1
        if not is_counted or self.cool_down <= 0 or self.within <= 0:
            raise InvalidFlowPolicy(
                f"{self} is no breaker: it needs 1 <= minimum <= window, a rate in (0, 1] and times above 0.",
                remedy="Correct the `breaker` of the sink or source.",
            )


SERVICE = BreakerPolicy(window=1000, minimum=5, failure_rate=0.5, cool_down=30.0, within=30.0)
"""For a service outside that is asked now and then: half of the calls of the last 30 seconds failed."""


class BreakerState(Enum):
    """What a breaker lets through."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Permit(Enum):
    """The right to call once; the call's result is told with it."""

    CALL = "an ordinary call"
    PROBE = "the one call of a half-open breaker"


class _Call(NamedTuple):
    at: float
    failed: bool


class Breaker:
    """The breaker of one lane or source. A lane uses it under its lock."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self._policy = policy
        self._calls: deque[_Call] = deque(maxlen=policy.window)
        self._opened_at: float | None = None
        self._probing = False

    def state(self, now: float) -> BreakerState:
        """What the breaker is at this time."""
        if self._opened_at is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if self.wait(now) > 0 else BreakerState.HALF_OPEN

    def wait(self, now: float) -> float:
        """Seconds until the cool-down is over; 0 when it is, or when there is none."""
        return 0.0 if self._opened_at is None else max(0.0, self._opened_at + self._policy.cool_down - now)

    def admit(self, now: float) -> Permit | None:
        """A permit for one call, or None while there is none. Its result must be told."""
        match self.state(now):
            case BreakerState.CLOSED:
                return Permit.CALL
            case BreakerState.HALF_OPEN if not self._probing:
                self._probing = True
                return Permit.PROBE
            case _:
                return None

    def succeeded(self, permit: Permit, now: float) -> None:
        """The call was answered."""
        if permit is Permit.PROBE:
            self._close()
        elif self._opened_at is None:
            self._calls.append(_Call(now, failed=False))

    def failed(self, permit: Permit, now: float) -> None:
        """The call failed. A late answer to a call from before the breaker opened changes nothing."""
        if permit is Permit.PROBE:
            self.trip(now)
        elif self._opened_at is None:
            self._calls.append(_Call(now, failed=True))
            if self._too_many(now):
                self.trip(now)

    def given_back(self, permit: Permit) -> None:
        """The call was not made, or nobody knows its result: somebody else may probe."""
        if permit is Permit.PROBE:
            self._probing = False

    def trip(self, now: float) -> None:
        """Open now, whatever the rate: a batch's budget is used up."""
        self._opened_at = now
        self._probing = False

    def _close(self) -> None:
        self._opened_at = None
        self._probing = False
        self._calls.clear()

    def _too_many(self, now: float) -> bool:
        while self._calls[0].at < now - self._policy.within:
            self._calls.popleft()
        calls, failed = len(self._calls), sum(call.failed for call in self._calls)
        return calls >= self._policy.minimum and failed >= self._policy.failure_rate * calls
