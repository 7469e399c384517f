"""What a pipeline declares of its delivery and of each sink. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from holdfast.deliver.contract import Ordering, Sink
from holdfast.deliver.rows import PoisonUnit
from holdfast.flow.breaker import BreakerPolicy
from holdfast.flow.retry import RetryPolicy
from holdfast.ledger.lane import LaneSpec, Start


class OnExhausted(Enum):
    """What becomes of a batch whose retry budget is used up."""

    HOLD = "hold"
    """The lane is frozen; the batch is tried again whenever the breaker half-opens."""
    DEAD_LETTER = "dead_letter"
    """All its rows go to the dead letters and the lane goes on.

    A sink that keeps a cursor has to take at least the news that the batch is passed over. While it cannot be reached,
    its lane is frozen with the rows in the dead letters, and goes on when it answers.
    """


class OnQuota(Enum):
    """What an optional sink does to a pipeline whose outbox is full of what the sink has not taken."""

    DETACH = "detach"
    """It is left out until somebody attaches it again; what it misses meanwhile is on record."""
    BLOCK = "block"
    """The pipeline waits for it, as it always does for a required sink."""


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """How patient a delivery is, and how much it keeps."""

    opening_patience: float = 2.0
    """Seconds that a start waits for sinks to open; those that take longer join later."""
    stop_patience: float = 10.0
    """Seconds that a stop waits for its last writes, and for threads that hang in a sink."""
    batches_in_memory: int = 4
    """Batches that are read ahead or kept for the next lane."""
    keep_versions: int = 100
    """Versions of the cursors that the checkpoint store keeps."""
    cadence: float = 0.0
    """Seconds from one write of cursors to the next, in which answers gather; nobody who waits for a write has to."""


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """A sink and how its lane treats it."""

    name: str
    sink: Sink
    required: bool = True
    max_inflight: int = 1
    """How many batches may be unanswered at once; acts only for sinks that are `DISJOINT` or `CONCURRENT`."""
    start: Start | int = Start.EARLIEST
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    on_exhausted: OnExhausted = OnExhausted.HOLD
    on_quota: OnQuota = OnQuota.DETACH
    """What happens at the outbox's quota; acts only for an optional sink."""
    poison_unit: PoisonUnit = PoisonUnit.ROW
    only: str | None = None
    """The one route whose rows the sink takes; None for all rows."""
    columns: Sequence[str] | None = None
    """The columns that the sink is given, in this order; None for all."""

    def __post_init__(self) -> None:
        self.lane()  # refuses what makes no sense

    @property
    def may_be_detached(self) -> bool:
        """Whether a pipeline goes on without it when its outbox is full."""
        return not self.required and self.on_quota is OnQuota.DETACH

    def lane(self) -> LaneSpec:
        """What the ledger needs to know of it."""
        return LaneSpec(self.name, required=self.required, max_inflight=self.workers, start=self.start)

    @property
    def workers(self) -> int:
        """How many batches may be unanswered at once, given what the sink allows."""
        return 1 if self.sink.ordering is Ordering.ORDERED else self.max_inflight
