"""What a sink promises and what a lane may ask of it. An adapter implements `Sink`; nothing else here does I/O.

A sink is used from one thread at a time, except `deliver` of a `CONCURRENT` or `DISJOINT` sink, which several threads
may call at once, each with another batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    import pyarrow as pa


class Tier(Enum):
    """What the rows in the sink are worth after any number of crashes, with no cooperation of who reads them."""

    EXACTLY_ONCE = "exactly-once"
    EXACTLY_ONCE_FILES = "exactly-once per file set"
    AT_LEAST_ONCE = "at-least-once"


class GoingBack(Enum):
    """What a sink makes of batches behind a place that it is taken back to, when they come again or others instead."""

    ENDS_EQUAL = "ends equal"
    """It removes what it had of them first, so it ends as if it had never gone back."""
    REPEATS_ROWS = "repeats rows"
    """What it had of them stays, and what comes is added."""
    REFUSES_OLDER = "refuses older positions"
    """What it had of them stays where what comes has no greater position."""


class Ordering(Enum):
    """How many batches of a lane may be on their way to the sink at once."""

    ORDERED = "one at a time, in oseq order"
    DISJOINT = "several, as long as they share no key"
    CONCURRENT = "several: each stands under a name of its own"


@dataclass(frozen=True, slots=True)
class LaneIdentity:
    """Who writes: what a sink stores beside its rows to know its owner and its place."""

    pipeline: str
    lane: str
    outbox: str
    """The uuid of the outbox: oseq of another outbox mean something else."""
    epoch: int
    """The fencing epoch of the owner; a sink refuses a lower one than it has seen."""
    hook: StepHook = field(default=no_hook, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SinkBatch:
    """The rows of one batch of the outbox, in the order in which they are to be written."""

    oseq: int
    previous: int
    """What the sink's own cursor must say before this batch is applied: the lane's batch before this one."""
    rows: pa.Table
    """Without the rows that were rejected before."""
    ordinals: pa.Int64Array
    """The place of each row in the batch as published; (outbox, oseq, ordinal) is a row's id and never changes."""


class Sink(ABC):
    """Where a lane delivers to.

    `deliver` returns when the batch is durable in the sink, and otherwise raises one of

    - `Transient`, `Throttled`: the batch is certainly not in the sink, trying again may help;
    - `CommitUnknown`: it may be in the sink or not; the lane reads `cursor` back, or delivers again if there is none;
    - `Rejected`, `Poison`: rows of the batch are refused for what they are; the lane finds them with `probe`;
    - `Fatal`, `SinkFenced`: trying again cannot help.

    Any other exception counts as `Poison`, unless it is the machine's and not the data's: no memory, no disk, a broken
    connection count as `CommitUnknown`. Delivering a batch that the sink already has must change nothing.
    """

    kind: ClassVar[str]
    tier: ClassVar[Tier]
    ordering: ClassVar[Ordering] = Ordering.ORDERED
    piece_rows: int | None = None
    """How many rows at once are given to a sink that can take nothing back, as one behind HTTP; None for all others.

    Such a sink keeps no cursor and is not probed. A batch comes to it in pieces, each a delivery of its own, and a
    piece that it refuses is halved. A piece that comes again has the same first and last ordinal and the same rows.
    """

    @abstractmethod
    def open(self, identity: LaneIdentity) -> None:
        """Connect, create what is missing, and claim the sink for the epoch (`SinkFenced` if a newer one did)."""

    def check_connection(self, identity: LaneIdentity) -> None:
        """Raise what keeps the sink from being delivered to now. No row is sent, and nothing stays open."""
        try:
            self.open(identity)
        finally:
            self.close()

    @abstractmethod
    def cursor(self) -> int | None:
        """The last oseq of this outbox that the sink itself says it has; None when it keeps no cursor.

        0 when it keeps one and has nothing yet.
        """

    @abstractmethod
    def deliver(self, batch: SinkBatch) -> None:
        """Make the batch durable together with the sink's own cursor, if it keeps one. Empty batches come too."""

    @abstractmethod
    def probe(self, batch: SinkBatch) -> None:
        """Find out whether these rows would be taken, leaving nothing behind. Raises what `deliver` would."""

    def going_back(self) -> GoingBack:
        """What `go_back` would mean. It claims nothing, so a sink that is not open, and another's, may be asked too."""
        return GoingBack.REPEATS_ROWS

    def go_back(self, oseq: int) -> None:
        """Be as after batch `oseq`, in one step: the rows behind it are removed if that can be, and the cursor follows.

        Only an operator's rollback asks for it. A sink that is not behind `oseq` is left as it is.
        """
        return  # a sink without a cursor that can take nothing back

    @abstractmethod
    def close(self) -> None:
        """Give up connections and files. Closing twice is fine, and so is opening again afterwards."""
