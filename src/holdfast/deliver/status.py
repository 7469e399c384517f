"""What a delivery tells about itself: a consistent picture, taken under its lock.

The numbers of a lane add up at every moment: every batch it was offered is queued, in flight, delivered, rejected or
abandoned, and every row it read went out, to the dead letters or along another route, or was refused by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.deliver.core import DeliveryPhase
from holdfast.flow.breaker import BreakerState
from holdfast.ledger.resume import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.deliver.classify import Reason
    from holdfast.deliver.contract import Tier
    from holdfast.deliver.core import Core
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.gaps import Gaps
    from holdfast.ledger.lane import Lane
    from holdfast.ledger.ledger import Ledger
    from holdfast.model.histogram import DurationHistogram
    from holdfast.model.positions import Position


class LaneState(Enum):
    """What a lane is doing."""

    RUNNING = "running"
    RETRYING = "retrying"
    """An attempt failed and the next one waits."""
    FROZEN = "frozen"
    """A batch's budget is used up, the breaker is open, the sink cannot be opened, or a log of ours has no room, as the
    dead letters. It is tried again by itself."""
    CATCHING_UP = "catching up"
    """It moves, and has not yet reached what was newest when it began to."""
    DETACHED = "detached"
    """It was optional and held a full outbox back: it is given nothing until somebody attaches it again."""
    STOPPED = "stopped"
    """It does not go on until somebody acts."""
    ENDED = "ended"
    """Delivery was drained or stopped; what the sink does not have is sent after the next start."""
    FENCED = "fenced"


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds from the capture of a batch's last event to the sink's commit, over the batches of this run.

    A percentile is never below the true one, and at most a fifth above it.
    """

    batches: int = 0
    """How many were measured; a batch whose events are gone from the inbox at a start is not."""
    p50: float = 0.0
    p99: float = 0.0
    longest: float = 0.0


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """One lane."""

    name: str
    kind: str
    tier: Tier
    required: bool
    state: LaneState
    route: Route
    """How it came by its starting point."""
    cursor: int
    """Every batch up to this one is resolved."""
    offered: int = 0
    queued: int = 0
    in_flight: int = 0
    """Sent and not resolved: travelling, waiting for the next attempt, or held."""
    delivered: int = 0
    rejected: int = 0
    """Batches with rows in the dead letters; the other rows of them are in the sink."""
    abandoned: int = 0
    lag_rows: int = 0
    rows_read: int = 0
    rows_out: int = 0
    rows_dead: int = 0
    rows_filtered: int = 0
    rows_refused: int = 0
    """Dropped on purpose, because the dead letters had no room and were told to refuse."""
    latency: Latency = field(default_factory=Latency)
    attempts: int = 0
    """How often the batch in the worst state has failed so far."""
    breaker: BreakerState = BreakerState.CLOSED
    last_error: Reason | None = None
    stopped: str | None = None
    """Why it is stopped."""
    gaps: Gaps = ()
    """What the sink misses, because its lane was detached meanwhile; the last one is open while it is."""

    @property
    def lag_batches(self) -> int:
        """How many batches the sink is behind."""
        return self.queued + self.in_flight + self.abandoned

    @property
    def is_conserved(self) -> bool:
        """Whether every batch and every row is in exactly one place."""
        batches = self.queued + self.in_flight + self.delivered + self.rejected + self.abandoned
        rows = self.rows_out + self.rows_dead + self.rows_filtered + self.rows_refused
        return self.offered == batches and self.rows_read == rows


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """The whole delivery."""

    phase: DeliveryPhase
    failure: str | None
    trouble: str | None
    """What keeps decisions from being executed just now; it is tried again."""
    newest: int
    """The newest batch that was published."""
    committed: int
    positions: Mapping[str, Position]
    committed_on_disk: int
    is_durable: bool
    """Whether the cursors on disk are the current ones."""
    lanes: Mapping[str, LaneStatus]


def picture(core: Core) -> DeliveryStatus:
    """The status of now."""
    with core.lock:
        ledger = core.ledger
        return DeliveryStatus(
            phase=core.phase,
            failure=_text(core.failure),
            trouble=_text(core.trouble),
            newest=ledger.batches.last_oseq,
            committed=ledger.committed,
            positions=dict(ledger.positions),
            committed_on_disk=core.durable.committed if core.durable else 0,
            is_durable=core.is_durable(),
            lanes={
                **{name: _lane(lane, ledger, core) for name, lane in core.lanes.items()},
                **{name: _detached(spec, ledger.gaps[name]) for name, spec in core.detached.items()},
            },
        )


def _lane(lane: DeliveryLane, ledger: Ledger, core: Core) -> LaneStatus:
    known = ledger.lanes[lane.name]
    stopped = known.stopped or _text(lane.failure)
    return LaneStatus(
        name=lane.name,
        kind=lane.sink.kind,
        tier=lane.sink.tier,
        required=lane.spec.required,
        state=_state(lane, known, core, stopped),
        route=ledger.starts[lane.name].route,
        cursor=known.delivered,
        offered=known.offered,
        queued=len(known.queued),
        in_flight=known.unresolved,
        delivered=known.acked,
        rejected=known.rejected,
        abandoned=lane.abandoned,
        lag_rows=sum(core.rows_of.get(oseq, 0) for oseq in (*known.queued, *known.unresolved_batches)),
        rows_read=lane.rows.read,
        rows_out=lane.rows.out,
        rows_dead=lane.rows.dead,
        rows_filtered=lane.rows.filtered,
        rows_refused=lane.rows.refused,
        latency=_latency(lane.latency),
        attempts=max((tries.failed for tries in lane.trying.values()), default=0),
        breaker=lane.breaker.state(core.clock.monotonic()),
        last_error=lane.last_error,
        stopped=stopped,
        gaps=ledger.gaps.get(lane.name, ()),
    )


def _detached(spec: SinkSpec, gaps: Gaps) -> LaneStatus:
    """A lane that is left out: it was offered nothing, and has what it had."""
    return LaneStatus(
        name=spec.name,
        kind=spec.sink.kind,
        tier=spec.sink.tier,
        required=spec.required,
        state=LaneState.DETACHED,
        route=Route.DETACHED,
        cursor=gaps[-1].after,
        gaps=gaps,
    )


def _latency(measured: DurationHistogram) -> Latency:
    return Latency(measured.count, measured.p50, measured.p99, measured.longest)


def _state(lane: DeliveryLane, known: Lane, core: Core, stopped: str | None) -> LaneState:
    tries = lane.trying.values()
    if core.phase is DeliveryPhase.FENCED:
        return LaneState.FENCED
    if stopped is not None:
        return LaneState.STOPPED
    if core.has_ended:
        return LaneState.ENDED
    if not lane.is_open or lane.waiting or known.held or any(tried.exhausted for tried in tries):
        return LaneState.FROZEN
    if lane.breaker.state(core.clock.monotonic()) is not BreakerState.CLOSED:
        return LaneState.FROZEN
    if any(tried.failed for tried in tries):
        return LaneState.RETRYING
    return LaneState.CATCHING_UP if known.delivered < lane.catching_up_to else LaneState.RUNNING


def _text(error: BaseException | None) -> str | None:
    return None if error is None else str(error)
