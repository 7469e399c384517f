"""What all sinks of a document have in common: how their lane treats them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from holdfast.config.fields import Block, Count, Duration, Flag, Name, Share, Text, Whole
from holdfast.deliver import BreakerPolicy, OnExhausted, OnQuota, PoisonUnit, RetryPolicy, SinkSpec
from holdfast.ledger import Start
from holdfast.model.errors import InvalidPipeline

if TYPE_CHECKING:
    from holdfast.deliver import Sink

_RETRY = RetryPolicy()
_BREAKER = BreakerPolicy()


class RetryBlock(Block):
    """The pauses between the attempts of one batch, drawn with decorrelated jitter, and the budget they share."""

    base: Duration = timedelta(seconds=_RETRY.base)
    """The shortest pause."""
    cap: Duration = timedelta(seconds=_RETRY.cap)
    """The longest pause; a sink that asks for more gets more."""
    attempts: Count = _RETRY.attempts
    """How often a batch is tried before the budget is used up."""
    elapsed: Duration = timedelta(seconds=_RETRY.elapsed)
    """How long after the first failure no further attempt begins."""

    def check(self) -> None:
        """Such pauses must exist."""
        self.policy()

    def policy(self) -> RetryPolicy:
        """The value."""
        return RetryPolicy(
            base=self.base.total_seconds(),
            cap=self.cap.total_seconds(),
            attempts=self.attempts,
            elapsed=self.elapsed.total_seconds(),
        )


class BreakerBlock(Block):
    """When a lane stops calling a sink that is down, and for how long."""

    window: Count = _BREAKER.window
    """How many of the last calls are looked at."""
    minimum: Count = _BREAKER.minimum
    """With fewer calls than this, the rate says nothing."""
    failure_rate: Share = _BREAKER.failure_rate
    """The share of failed calls at which the breaker opens."""
    cool_down: Duration = timedelta(seconds=_BREAKER.cool_down)
    """How long it stays open before one call probes the sink."""
    within: Duration | None = None
    """How old a call may be that is looked at; the last ones count however old they are when it is not given."""

    def check(self) -> None:
        """Such a breaker must be able to open."""
        self.policy()

    def policy(self) -> BreakerPolicy:
        """The value."""
        return BreakerPolicy(
            window=self.window,
            minimum=self.minimum,
            failure_rate=self.failure_rate,
            cool_down=self.cool_down.total_seconds(),
            within=inf if self.within is None else self.within.total_seconds(),
        )


class SinkBlock(Block, ABC):
    """Where rows go, and how its lane treats it."""

    type: str
    name: Name | None = None
    """What its lane is called; the `type` when it is not given. Another name means another lane, from its `start`."""
    required: Flag = True
    """Whether the commit policy `required` waits for it, and its end is the end of the pipeline."""
    start: Annotated[Start, Field(strict=False)] | Whole = Start.EARLIEST
    """Where its lane begins when it was never there before; a number means after that batch."""
    only: Text | None = None
    """The one route whose rows it takes; without it, all rows."""
    columns: Annotated[list[Text], Field(min_length=1)] | None = None
    """The columns that it is given, in this order; without it, all."""
    retry: RetryBlock = Field(default_factory=RetryBlock)
    """How a batch is tried again that the sink did not take for a passing reason."""
    breaker: BreakerBlock = Field(default_factory=BreakerBlock)
    """How a sink that is down is left in peace."""
    on_exhausted: Annotated[OnExhausted, Field(strict=False)] = OnExhausted.HOLD
    """What becomes of a batch whose retry budget is used up."""
    on_quota: Annotated[OnQuota, Field(strict=False)] | None = None
    """What a sink that is not required does to a pipeline whose outbox is full of what it has not taken; `detach` when
    it is not given."""
    poison_unit: Annotated[PoisonUnit, Field(strict=False)] = PoisonUnit.ROW
    """What goes to the dead letters when a row is refused: the row, or all rows of its source transaction."""

    def check(self) -> None:
        """A key must act."""
        if self.required and self.on_quota is not None:
            raise InvalidPipeline(
                f"A pipeline always waits for a required sink, so its `on_quota` would do nothing: {self.label!r}.",
                remedy="Remove `on_quota`, or say `required: false`.",
            )

    @property
    def label(self) -> str:
        """Its name."""
        return self.name or self.type

    @abstractmethod
    def sink(self) -> Sink:
        """The adapter. Its client library is imported here and not before; nothing is opened."""

    def spec(self) -> SinkSpec:
        """The adapter and how its lane treats it."""
        return SinkSpec(
            name=self.label,
            sink=self.sink(),
            required=self.required,
            max_inflight=self.inflight,
            start=self.start,
            only=self.only,
            columns=self.columns,
            retry=self.retry.policy(),
            breaker=self.breaker.policy(),
            on_exhausted=self.on_exhausted,
            on_quota=self.on_quota or OnQuota.DETACH,
            poison_unit=self.poison_unit,
        )

    @property
    def inflight(self) -> int:
        """How many batches may be unanswered at once; only sinks that allow more than one have a key for it."""
        return 1
