"""What an edge does when it is full, how large it is, and why: values that are declared, logged and audited.

No edge is without a bound. Its capacity is the one that a burst profile asks for, or a number that its reason explains.
What the policies do is in `edge`, `priority` and `credits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from math import ceil
from typing import ClassVar, Never, TypeAlias

from holdfast.model.errors import InvalidFlowPolicy


class Priority(Enum):
    """What goes first, and what is shed first."""

    HIGH = "high"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Backpressure:
    """The sender waits until there is room."""

    name: ClassVar[str] = "backpressure"
    reason: str

    def __post_init__(self) -> None:
        _refuse_no_reason(self)


@dataclass(frozen=True, slots=True)
class Shed:
    """The sender never waits; what does not fit is dropped and counted."""

    name: ClassVar[str] = "shed"
    reason: str

    def __post_init__(self) -> None:
        _refuse_no_reason(self)


@dataclass(frozen=True, slots=True)
class Timed:
    """The sender waits for a while; what then has no room becomes a dead letter and is counted."""

    name: ClassVar[str] = "timed"
    deadline: float
    """Seconds."""
    reason: str

    def __post_init__(self) -> None:
        _refuse_no_reason(self)
        _refuse_unless(self.deadline > 0, self, "its deadline is above 0")


@dataclass(frozen=True, slots=True)
class Credits:
    """The sender waits for credits, which come back after processing and which the receiver may withhold."""

    name: ClassVar[str] = "credits"
    reason: str

    def __post_init__(self) -> None:
        _refuse_no_reason(self)


@dataclass(frozen=True, slots=True)
class ByPriority:
    """What is of high priority goes first and waits for room; the rest is shed above the high-water mark."""

    name: ClassVar[str] = "priority"
    priority_of: Callable[[Never], Priority] = field(repr=False)
    """Of one item. Called when it is sent, and again when the sending was cancelled and is repeated."""
    reason: str
    low_share: float = 0.25
    """The share of the capacity that low priority can take at most; the rest is for high priority alone."""
    high_water: float = 0.8
    """The share of the capacity above which nothing of low priority is let in."""

    def __post_init__(self) -> None:
        _refuse_no_reason(self)
        shares = 0 < self.low_share < 1 and 0 < self.high_water <= 1
        _refuse_unless(shares, self, "its shares are above 0 and not above 1")


FlowPolicy: TypeAlias = Backpressure | Shed | Timed | Credits | ByPriority


@dataclass(frozen=True, slots=True)
class BurstProfile:
    """The burst that an edge must be able to take without waiting or shedding."""

    peak_rate: float
    """Items a second."""
    peak_seconds: float
    processing_rate: float
    """Items a second that leave meanwhile."""
    safety: float = 2.0

    def __post_init__(self) -> None:
        numbers = (self.peak_rate, self.peak_seconds, self.processing_rate)
        _refuse_unless(min(numbers) >= 0 and self.safety > 0, self, "nothing is below 0 and the safety is above it")

    @property
    def recommended_buffer(self) -> int:
        """The items that pile up in such a burst, times the safety factor; 0 when processing keeps up."""
        return ceil(max(0.0, self.peak_rate - self.processing_rate) * self.peak_seconds * self.safety)


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """All that is declared of an edge. One without a policy can be declared, and is refused before anything runs."""

    capacity: int
    """Items, whatever the sizes of the batches they travel in."""
    policy: FlowPolicy | None
    profile: BurstProfile | None = None

    def __post_init__(self) -> None:
        least = 2 if isinstance(self.policy, ByPriority) else 1
        _refuse_unless(self.capacity >= least, self, f"its capacity is {least} or more")

    @classmethod
    def for_burst(cls, profile: BurstProfile, policy: FlowPolicy) -> EdgePlan:
        """An edge that takes the burst; never smaller than one from a source is by default."""
        return cls(max(profile.recommended_buffer, FROM_SOURCE.capacity), policy, profile)


def _refuse_no_reason(policy: FlowPolicy) -> None:
    _refuse_unless(bool(policy.reason.strip()), policy, "it says why it was chosen")


def _refuse_unless(holds: bool, value: object, rule: str) -> None:
    if not holds:
        raise InvalidFlowPolicy(
            f"{value} is not usable: {rule}.", remedy="Correct the numbers, or give the reason, where it is declared."
        )


FROM_SOURCE = EdgePlan(1024, Backpressure("What cannot wait is dropped by the kernel, which counts it."))
TO_STATE = EdgePlan(4096, Backpressure("The consumer keeps state and is the heavier one."))
TO_DEADLINE = EdgePlan(256, Timed(0.2, "What comes later than that is of no use, and is kept as a dead letter."))
TO_EXPORT = EdgePlan(1024, Shed("Figures come again; they never hold up what they describe."))
"""The edges that most graphs need, as they are when nobody says otherwise."""
