"""How long to wait before something is tried again, and when to give up. Pure: the time and the dice are passed in.

Decorrelated jitter: each pause is drawn between `base` and three times the pause before it (`base` itself before the
first), and never exceeds `cap`. So many callers that failed together do not come back together, the first time neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.model.errors import InvalidFlowPolicy

if TYPE_CHECKING:
    from random import Random

_GROWTH = 3.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The pauses between the attempts at one batch or call, and the budget they share."""

    base: float = 0.1
    """The shortest pause, in seconds."""
    cap: float = 30.0
    """The longest pause; whoever is called may ask for more, and gets it."""
    attempts: int = 8
    """How often it is tried before the budget is used up."""
    elapsed: float = 300.0
    """How many seconds after the first failure no further attempt begins."""

    def __post_init__(self) -> None:
        if not 0 < self.base <= self.cap or self.attempts < 1 or self.elapsed < 0:
            raise InvalidFlowPolicy(
                f"{self} is no way to retry: it needs 0 < base <= cap, an attempt or more, and a time from 0 on.",
                remedy="Correct the `retry` of the sink or source.",
            )


@dataclass(frozen=True, slots=True)
class Tries:
    """What has been tried so far with one batch or call. Every failure gives a new value."""

    policy: RetryPolicy
    failed: int = 0
    forgiven: int = 0
    """How many of the failures came before the budget began anew."""
    first_failure: float | None = None
    pause: float = 0.0
    """How long to wait before the next attempt; means nothing once exhausted."""
    exhausted: bool = False
    """Whether the budget is used up. It never comes back."""

    def after_failure(self, now: float, random: Random, *, at_least: float = 0.0) -> Tries:
        """One more attempt failed.

        :param at_least: how long the one who is called asked us to wait; it may exceed the cap, but not the budget.
        """
        first = now if self.first_failure is None else self.first_failure
        failed = self.failed + 1
        pause = max(self._jitter(random), at_least)
        over = failed - self.forgiven >= self.policy.attempts or now + pause - first > self.policy.elapsed
        return replace(self, failed=failed, first_failure=first, pause=pause, exhausted=self.exhausted or over)

    def while_frozen(self) -> Tries:
        """One more attempt failed for a reason that somebody must mend: the budget begins anew after that."""
        failed = self.failed + 1
        return replace(self, failed=failed, forgiven=failed, first_failure=None, pause=0.0)

    def _jitter(self, random: Random) -> float:
        base = self.policy.base
        return min(self.policy.cap, random.uniform(base, max(base, self.pause) * _GROWTH))
