"""One sink's progress over the outbox: which batches wait, travel, are answered, and how far all are resolved.

A batch of a lane is in exactly one place:

    queued ─send─▶ in_flight ─ack──────────────────────────────▶ pending_acks ─┐ lowest first, while
                    ▲   ├───reject─▶ dead_lettering ─written──▶ pending_acks ─┤ nothing lower is
                    │   ├───fail───▶ retrying ─┐                               ▼ unresolved
                    │   └───hold───▶ held ─────┤ retry                     delivered
                    └──────────send────────────┘

A lane knows nothing of policies, phases or other lanes; the ledger asks it and tells it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from holdfast.model.errors import InvalidLane, TicketUsed, UnknownBatch


class Start(Enum):
    """Where a lane that was never there before begins."""

    EARLIEST = "earliest"
    """With the first batch there ever was; refused when that is no longer kept."""
    SNAPSHOT = "snapshot"
    """With the present content, then what comes. The content of a log is all of it, so that is the first batch too."""
    NOW = "now"
    """With the next batch that is created."""

    @property
    def is_from_the_first(self) -> bool:
        """Whether the lane is owed every batch there ever was."""
        return self is not Start.NOW


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """What the pipeline declares of a sink, as far as the ledger cares."""

    name: str
    required: bool = True
    max_inflight: int = 1
    """How many batches may be unresolved at once. 1 keeps effects in oseq order."""
    start: Start | int = Start.EARLIEST
    """Where the lane begins when neither we nor the sink have a cursor; a number means after that batch."""

    def __post_init__(self) -> None:
        if not self.name or self.max_inflight < 1 or (isinstance(self.start, int) and self.start < 0):
            raise InvalidLane(
                f"{self} is not a lane: it needs a name, room for one batch in flight or more, and a start from 0 on.",
                remedy="Correct the sink's declaration.",
                lane=self.name,
            )


class Lane:
    """The state of one lane. Every operation on a batch is O(1); consuming the prefix is O(1) amortised."""

    __slots__ = (
        "acked",
        "dead_lettering",
        "delivered",
        "held",
        "in_flight",
        "max_inflight",
        "name",
        "offered",
        "pending_acks",
        "queued",
        "rejected",
        "required",
        "retrying",
        "since",
        "spec",
        "stopped",
        "vanished",
        "window",
    )

    def __init__(
        self,
        spec: LaneSpec,
        *,
        delivered: int,
        since: int | None = None,
        batches: Iterable[int] = (),
        stopped: str | None = None,
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.required = spec.required
        self.max_inflight = spec.max_inflight
        self.delivered = delivered
        """Every batch up to this one is resolved: the lane's restart point."""
        self.since = since
        """For a lane that does not count yet: the batch after which it began. It has nothing from before."""
        self.stopped = stopped
        """Why the lane can never go on, or None."""
        self.queued = deque(batches)
        """Batches never sent, ascending."""
        self.in_flight: dict[int, int] = {}
        """Batches sent and awaiting an answer, with the number of the attempt."""
        self.retrying: dict[int, int] = {}
        """Batches that failed and may be sent again, with the number of the next attempt."""
        self.held: dict[int, int] = {}
        """Batches parked until someone releases them, with the last attempt; meanwhile nothing new is sent."""
        self.dead_lettering: dict[int, int] = {}
        """Batches rejected whose rows are not yet known to be in the dead letters."""
        self.pending_acks: set[int] = set()
        """Batches resolved above something that is not."""
        self.window: deque[int] = deque()
        """Every batch sent and above `delivered`, ascending: unresolved ones and pending ones."""
        self.vanished: list[int] = []
        """Batches whose `Sending` ticket was dropped without an outcome, not yet reported."""
        self.offered = len(self.queued)
        self.acked = 0
        self.rejected = 0

    def restarted(self, delivered: int, batches: Iterable[int]) -> Lane:
        """The lane begun anew after `delivered`. It is another object, and tickets of before are void."""
        since = None if self.since is None else min(self.since, delivered)
        self.retire()
        return Lane(self.spec, delivered=delivered, since=since, batches=batches, stopped=self.stopped)

    def retire(self) -> None:
        """Send nothing any more: a ticket that somebody still holds finds no batch waiting."""
        self.queued.clear()
        self.retrying.clear()

    @property
    def counts(self) -> bool:
        """Whether the commit policy looks at this lane."""
        return self.since is None

    def join(self, committed: int) -> bool:
        """Count from now on, if `committed` lies within what this lane has delivered itself."""
        if self.since is None or not self.since <= committed <= self.delivered:
            return False
        self.since = None
        return True

    @property
    def unresolved(self) -> int:
        """How many batches were sent and are neither acknowledged nor dead-lettered."""
        return len(self.window) - len(self.pending_acks)

    @property
    def unresolved_batches(self) -> tuple[int, ...]:
        """The batches behind `unresolved`, ascending."""
        return tuple(oseq for oseq in self.window if oseq not in self.pending_acks)

    def offer(self, oseq: int) -> None:
        """A batch was created: it waits to be sent."""
        self.queued.append(oseq)
        self.offered += 1

    def next_batch(self) -> int | None:
        """The lowest batch never sent, or None while the lane must not send a new one."""
        in_use = len(self.window) - len(self.pending_acks)
        if not self.queued or in_use >= self.max_inflight or self.held or self.stopped:
            return None
        return self.queued[0]

    def begin(self, oseq: int, attempt: int) -> None:
        """A queued or retried batch is being sent."""
        if self.retrying.get(oseq) == attempt:
            del self.retrying[oseq]
        elif attempt == 1 and self.next_batch() == oseq:
            self.window.append(self.queued.popleft())
        else:
            raise self._not_waiting(oseq, "cannot be sent")
        self.in_flight[oseq] = attempt

    def acknowledge(self, oseq: int, attempt: int) -> bool:
        """The sink has the batch. True when the resolved prefix grew."""
        self._take(self.in_flight, oseq, attempt)
        self.acked += 1
        return self._resolve(oseq)

    def fail(self, oseq: int, attempt: int) -> int:
        """The attempt failed for a passing reason; returns the number of the next attempt."""
        self._take(self.in_flight, oseq, attempt)
        self.retrying[oseq] = attempt + 1
        return attempt + 1

    def hold(self, oseq: int, attempt: int) -> None:
        """The batch is parked: the lane is frozen until it is released."""
        self._take(self.in_flight, oseq, attempt)
        self.held[oseq] = attempt

    def release(self, oseq: int) -> int:
        """A failed, held or half-rejected batch may be sent again; returns the number of the next attempt."""
        for place in (self.held, self.dead_lettering):
            if oseq in place:
                self.retrying[oseq] = place.pop(oseq) + 1
        if oseq not in self.retrying:
            raise self._not_waiting(oseq, "cannot be retried")
        return self.retrying[oseq]

    def reject(self, oseq: int, attempt: int) -> None:
        """The sink will never take the batch. It stays unresolved until its rows are in the dead letters."""
        self._take(self.in_flight, oseq, attempt)
        self.dead_lettering[oseq] = attempt

    def dead_lettered(self, oseq: int, attempt: int) -> bool:
        """The rejected rows are durable in the dead letters. True when the resolved prefix grew."""
        self._take(self.dead_lettering, oseq, attempt)
        self.rejected += 1
        return self._resolve(oseq)

    def abandon(self) -> tuple[int, ...]:
        """Give up on every unresolved batch; their outcome stays unknown. Tickets for them are void."""
        abandoned = self.unresolved_batches
        for place in (self.in_flight, self.retrying, self.held, self.dead_lettering):
            place.clear()
        self.window = deque(oseq for oseq in self.window if oseq in self.pending_acks)
        return abandoned

    def _resolve(self, oseq: int) -> bool:
        window, pending = self.window, self.pending_acks
        if window[0] != oseq:
            pending.add(oseq)
            return False
        self.delivered = window.popleft()
        while window and window[0] in pending:
            self.delivered = window.popleft()
            pending.remove(self.delivered)
        return True

    def _take(self, place: dict[int, int], oseq: int, attempt: int) -> None:
        if place.get(oseq) != attempt:
            raise self._not_waiting(oseq, "has no answer due")
        del place[oseq]

    def _not_waiting(self, oseq: int, what: str) -> TicketUsed | UnknownBatch:
        known = oseq <= self.delivered or oseq in self.window or oseq in self.queued
        if known:
            return TicketUsed(
                f"Batch {oseq} of lane {self.name!r} {what} with this ticket: it was used before or taken back.",
                remedy="Use each ticket once; ask the ledger for a new one with `next` or `retry`.",
                lane=self.name,
                oseq=oseq,
            )
        return UnknownBatch(
            f"Lane {self.name!r} was never given a batch {oseq}, so it {what}.",
            remedy="Answer only batches that this ledger handed out.",
            lane=self.name,
            oseq=oseq,
        )
