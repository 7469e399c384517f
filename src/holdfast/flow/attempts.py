"""Calls something outside that may fail, and calls it again when that can help.

What an error means is the caller's knowledge: a classifier says whether it passes by itself, never will, or is worth no
more than a count; one that it does not know is permanent. How long to wait is `retry`'s business, and whether to call
at all is `breaker`'s: while it is open an attempt fails without a call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from holdfast.flow.breaker import Breaker, BreakerState, Permit
from holdfast.flow.health import Metric
from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.model.errors import PermanentFailure, RetriesExhausted

if TYPE_CHECKING:
    from random import Random

    from holdfast.flow.timer import Timer

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transient:
    """It passes by itself: call again."""

    after: float = 0.0
    """How many seconds we were asked to wait."""


@dataclass(frozen=True, slots=True)
class Permanent:
    """Calling again gives the same."""


@dataclass(frozen=True, slots=True)
class Discardable:
    """What was asked for is worth nothing: count it and go on."""


Verdict: TypeAlias = Transient | Permanent | Discardable
Classifier: TypeAlias = Callable[[Exception], Verdict]


def by_type(
    *, transient: tuple[type[Exception], ...] = (), discardable: tuple[type[Exception], ...] = ()
) -> Classifier:
    """A classifier that goes by the type of an error; what is in neither list is permanent."""

    def classify(error: Exception) -> Verdict:
        if isinstance(error, transient):
            return Transient()
        return Discardable() if isinstance(error, discardable) else Permanent()

    return classify


class _BreakerOpen(Exception):
    """The call was not made."""


class Retrying:
    """The calls of one operator to one service.

    :param breaker: shared by everybody who calls the same service; None calls whatever happened before.
    """

    def __init__(
        self,
        operator: str,
        policy: RetryPolicy,
        classify: Classifier,
        *,
        timer: Timer,
        random: Random,
        breaker: Breaker | None = None,
    ) -> None:
        self.operator = operator
        self._policy = policy
        self._classify = classify
        self._timer = timer
        self._random = random
        self._breaker = breaker
        self.retries = 0
        """How many attempts there were beyond the first of each call."""
        self.discards = 0
        """How many calls ended in nothing, because what they were about was worth nothing."""

    @property
    def breaker_state(self) -> BreakerState:
        """What the breaker lets through now; one that is not there lets all through."""
        return BreakerState.CLOSED if self._breaker is None else self._breaker.state(self._timer.monotonic())

    def metrics(self) -> tuple[Metric, ...]:
        """The figures of the calls; the state of the breaker is 0 when closed, 1 when open, 2 when half-open."""
        labels = {"operator": self.operator}
        state = tuple(BreakerState).index(self.breaker_state)
        return (
            Metric("retry_attempts_total", self.retries, labels),
            Metric("operator_discards_total", self.discards, labels),
            Metric("circuit_breaker_state", state, {"breaker": self.operator}),
        )

    async def call(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` returned, at the first attempt that succeeds; None when it was discarded.

        `PermanentFailure` and `RetriesExhausted` say at which attempt, and are caused by the error of the last one.
        """
        tries = Tries(self._policy)
        while True:
            try:
                return await self._attempt(work)
            except Exception as error:
                verdict = Transient() if isinstance(error, _BreakerOpen) else self._classify(error)
                match verdict:
                    case Discardable():
                        self.discards += 1
                        return None
                    case Permanent():
                        raise self._permanent(error, tries.failed + 1) from error
                    case Transient(after):
                        tries = self._after_failure(tries, after, error)
            await self._timer.sleep(tries.pause)
            self.retries += 1

    async def _attempt(self, work: Callable[[], Awaitable[T]]) -> T:
        if self._breaker is None:
            return await work()
        permit = self._breaker.admit(self._timer.monotonic())
        if permit is None:
            raise _BreakerOpen
        return await self._through(self._breaker, permit, work)

    async def _through(self, breaker: Breaker, permit: Permit, work: Callable[[], Awaitable[T]]) -> T:
        try:
            result = await work()
        except Exception as error:
            if isinstance(self._classify(error), Transient):
                breaker.failed(permit, self._timer.monotonic())
            else:
                breaker.succeeded(permit, self._timer.monotonic())
            raise
        except BaseException:
            breaker.given_back(permit)
            raise
        breaker.succeeded(permit, self._timer.monotonic())
        return result

    def _after_failure(self, tries: Tries, asked: float, error: Exception) -> Tries:
        failed = tries.after_failure(self._timer.monotonic(), self._random, at_least=asked)
        if failed.exhausted:
            raise RetriesExhausted(
                f"{self.operator} gave up after attempt {failed.failed}: {_text(error)}.",
                kept="Nothing of it was taken.",
                remedy="Mend the service, or give the retries a larger budget; what was asked for can be asked again.",
                operator=self.operator,
                attempts=failed.failed,
            ) from error
        return failed

    def _permanent(self, error: Exception, attempt: int) -> PermanentFailure:
        return PermanentFailure(
            f"{self.operator} failed for good at attempt {attempt}: {_text(error)}.",
            kept="Nothing of it was taken.",
            remedy="Look at what was asked for; if it does pass by itself, have the classifier call it transient.",
            operator=self.operator,
            attempts=attempt,
        )


def _text(error: Exception) -> str:
    if isinstance(error, _BreakerOpen):
        return "the breaker is open"
    return f"{type(error).__name__}: {error}".rstrip(": .")
