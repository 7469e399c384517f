"""What the ledger ought to say, worked out from raw history: which batches each sink resolved, and nothing else.

Every check is named after the invariant of the design that it holds. None of them asks the ledger how it got there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ledger.policy import All, Policy, Required
from holdfast.model.positions import Seq
from tests.model.world import DRAINING, STOPPED, Violation, World, ends_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.ledger.lane import Lane


def meets(policy: Policy, world: World, oseq: int) -> bool:
    """Whether enough of the sinks that count have resolved everything up to `oseq`."""
    have = {name for name in world.joined if world.resolved_prefix(name) >= oseq}
    if isinstance(policy, Required):
        asked = {name for name in world.joined if world.ledger.lanes[name].required}
        return bool(asked) and asked <= have
    if isinstance(policy, All):
        return bool(world.joined) and world.joined <= have
    return len(have) >= policy.n


def checkpoint_never_ahead_of_terminalized_prefix(world: World) -> None:
    for name, lane in world.ledger.lanes.items():
        prefix = world.resolved_prefix(name)
        if lane.delivered > prefix:
            raise Violation(f"CheckpointNeverAheadOfTerminalizedPrefix: {name} at {lane.delivered}, resolved {prefix}")
        if lane.delivered < prefix:
            raise Violation(f"NoBatchLeftBehind: {name} stays at {lane.delivered} although {prefix} is resolved")


def checkpoint_ordering(world: World) -> None:
    for name, lane in world.ledger.lanes.items():
        for oseq in (*lane.in_flight, *lane.retrying, *lane.held, *lane.dead_lettering, *lane.pending_acks):
            if oseq <= lane.delivered:
                raise Violation(f"CheckpointOrdering: {name} is at {lane.delivered} past unresolved batch {oseq}")
        if world.stored.delivered.get(name, 0) > world.peak[name]:
            raise Violation(f"CheckpointOrdering: {world.stored} is stored, but {name} got to {world.peak[name]} only")


def no_double_complete(world: World) -> None:
    for name, lane in world.ledger.lanes.items():
        unresolved = [*lane.in_flight, *lane.retrying, *lane.held, *lane.dead_lettering]
        places = [*lane.queued, *unresolved, *lane.pending_acks]
        if len(places) != len(set(places)):
            raise Violation(f"NoDoubleComplete: a batch of {name} is in two places: {places}")
        if world.resolved[name] & {*lane.queued, *unresolved}:
            raise Violation(f"NoDoubleComplete: a batch resolved by {name} is to be sent again")


def no_batch_left_behind(world: World) -> None:
    """Every batch that a sink has not resolved is somewhere from where it will be sent."""
    if world.ledger.phase is STOPPED:
        return
    for name, lane in world.ledger.lanes.items():
        waiting = {*lane.queued, *lane.in_flight, *lane.retrying, *lane.held, *lane.dead_lettering}
        owed = {oseq for oseq in world.outbox if oseq > world.base[name] and oseq not in world.resolved[name]}
        if waiting != owed:
            raise Violation(f"NoBatchLeftBehind: {name} owes {sorted(owed)}, waiting are {sorted(waiting)}")
        if lane.delivered < world.trimmed and not lane.stopped:
            raise Violation(f"NoBatchLeftBehind: {name} goes on at {lane.delivered}, {world.trimmed} are gone")
        if any(oseq <= world.trimmed for oseq in waiting):
            raise Violation(f"NoBatchLeftBehind: {name} still needs {sorted(waiting)}, released is {world.trimmed}")


def conservation_per_stage(world: World) -> None:
    if world.ledger.phase is STOPPED:
        return
    for name, lane in world.ledger.lanes.items():
        out = lane.acked + lane.rejected
        if lane.offered != out + len(lane.queued) + lane.unresolved:
            raise Violation(f"ConservationPerStage: {name} was offered {lane.offered}, accounted for {out} and waiting")
        if out != len(world.resolved[name]) or _places(lane) != lane.unresolved:
            raise Violation(f"ConservationPerStage: {name} counts {out} resolved, {len(world.resolved[name])} were")


def _places(lane: Lane) -> int:
    return len(lane.in_flight) + len(lane.retrying) + len(lane.held) + len(lane.dead_lettering)


def in_flight_is_bounded(world: World) -> None:
    for name, lane in world.ledger.lanes.items():
        if _places(lane) > lane.max_inflight:
            raise Violation(f"AtMostMaxInflight: {name} has {_places(lane)} unresolved, {lane.max_inflight} allowed")


def drain_completeness(world: World) -> None:
    ledger = world.ledger
    if ledger.phase is not STOPPED:
        if ledger.stop_record is not None:
            raise Violation("DrainCompleteness: a stop is recorded, but the ledger is not stopped")
        return
    record = ledger.stop_record
    for name, lane in ledger.lanes.items():
        if _places(lane):
            raise Violation(f"DrainCompleteness: stopped while {name} has batches unresolved")
        if record is None or record.remaining.get(name, ()) != tuple(lane.queued):
            raise Violation(f"DrainCompleteness: {name} leaves {tuple(lane.queued)}, recorded is {record}")


def positions_belong_to_committed(world: World) -> None:
    """The safe point of each source is exactly where it stood after `committed`."""
    expected: dict[str, int] = {}
    for oseq in range(1, world.ledger.committed + 1):
        if world.happened(oseq):
            expected.update(dict.fromkeys(ends_of(oseq), oseq))
    actual = {source: at.value for source, at in world.ledger.positions.items() if isinstance(at, Seq)}
    if actual != expected:
        raise Violation(f"PositionsBelongToCommitted: {world.ledger.committed} is {expected}, sources got {actual}")


def acknowledged_is_durable(world: World) -> None:
    """No source was ever told more than what was on disk by then."""
    for source, told in world.told.items():
        if told > world.stored_peak.get(source, 0):
            raise Violation(f"AcknowledgedIsDurable: {source} was told {told}, stored was {world.stored_peak}")


def joining_lanes_do_not_count(world: World) -> None:
    counting = {name for name, lane in world.ledger.lanes.items() if lane.counts}
    if counting != world.joined:
        raise Violation(f"PolicyGate: lanes {sorted(counting)} count, but {sorted(world.joined)} reached committed")


def gaps_are_on_record(world: World) -> None:
    """What a sink misses is exactly what went by while its lane was detached."""
    recorded = {name: tuple((gap.after, gap.through) for gap in gaps) for name, gaps in world.ledger.gaps.items()}
    if {name: gaps for name, gaps in recorded.items() if gaps} != {n: gaps for n, gaps in world.gaps.items() if gaps}:
        raise Violation(f"NoBatchLeftBehind: sinks miss {world.gaps}, on record is {recorded}")


STATE_CHECKS: tuple[Callable[[World], None], ...] = (
    checkpoint_never_ahead_of_terminalized_prefix,
    checkpoint_ordering,
    no_double_complete,
    no_batch_left_behind,
    conservation_per_stage,
    in_flight_is_bounded,
    drain_completeness,
    positions_belong_to_committed,
    acknowledged_is_durable,
    joining_lanes_do_not_count,
    gaps_are_on_record,
)


class Before:
    """What the action checks need to remember of the state before a step."""

    __slots__ = ("committed", "delivered", "phase", "queued", "rollbacks", "unresolved")

    def __init__(self, world: World) -> None:
        lanes = world.ledger.lanes.values()
        self.committed = world.ledger.committed
        self.phase = world.ledger.phase
        self.rollbacks = world.ledger.rollbacks
        self.delivered = [lane.delivered for lane in lanes]
        self.unresolved = sum([lane.unresolved for lane in lanes])
        self.queued = [len(lane.queued) for lane in lanes]


ROLLBACKS = frozenset({"roll_back", "roll_back_lane"})
CURSORS_STAY = frozenset(
    {"create", "send", "apply", "fail", "hold", "vanish", "retry", "reject", "bury", "write", "confirm"}
    | {"drain", "stop", "force_stop"}
)
"""Operations that resolve nothing: no cursor may move by them."""


def expected_committed(world: World, start: int) -> int:
    """Where `committed` must be after this step, if it stood at `start` before it.

    A lane counts from the moment that `committed` lies within what it delivered itself, and may then help to meet the
    policy further on. `joined` is brought up to date on the way: it is part of the history.
    """
    committed = start
    while True:
        reached = {*world.outbox, *(world.resolved_prefix(name) for name in world.base)}
        met = [oseq for oseq in reached if oseq > committed and meets(world.ledger.policy, world, oseq)]
        committed = max(met, default=committed)
        joining = {n for n in world.base if world.since[n] <= committed <= world.resolved_prefix(n)} - world.joined
        if not joining:
            return committed
        world.joined |= joining


def note_peaks(world: World) -> None:
    """How far each lane ever got."""
    for name in world.base:
        prefix = world.resolved_prefix(name)
        if prefix > world.peak[name]:
            world.peak = {**world.peak, name: prefix}


def check_step(before: Before, operation: str, world: World) -> None:
    """The action properties: how cursors and the work in hand may change in one step."""
    if operation in CURSORS_STAY:
        _check_cursors_stayed(before, operation, world)
    else:
        _check_policy(before, operation, world)
    if before.phase is DRAINING and world.ledger.phase is DRAINING:
        _check_draining(before, world)


def _check_cursors_stayed(before: Before, operation: str, world: World) -> None:
    ledger = world.ledger
    if ledger.committed != before.committed or before.delivered != [lane.delivered for lane in ledger.lanes.values()]:
        raise Violation(f"CheckpointOrdering: {operation} moved a cursor")


def _check_policy(before: Before, operation: str, world: World) -> None:
    ledger = world.ledger
    start = {"crash": world.stored.committed, "roll_back": ledger.committed}.get(operation, before.committed)
    expected = expected_committed(world, start)
    note_peaks(world)
    if operation in ROLLBACKS and ledger.rollbacks != before.rollbacks + 1:
        raise Violation(f"CommittedMonotonic: {operation} is not recorded as a rollback")
    if ledger.committed < start:
        raise Violation(f"CommittedMonotonic: fell from {start} to {ledger.committed}")
    if ledger.committed > expected:
        raise Violation(f"PolicyGate: {ledger.committed} is committed, {ledger.policy} is met at {expected} only")
    if ledger.committed < expected:
        raise Violation(f"PolicyGate: {ledger.policy} is met at {expected}, committed stays at {ledger.committed}")


def _check_draining(before: Before, world: World) -> None:
    lanes = world.ledger.lanes.values()
    if sum([lane.unresolved for lane in lanes]) > before.unresolved:
        raise Violation("DrainCompleteness: work in flight grew while draining")
    if [len(lane.queued) for lane in lanes] != before.queued:
        raise Violation("DrainCompleteness: a batch was created or sent for the first time while draining")


def check_state(world: World) -> None:
    """Every invariant of a state."""
    for check in STATE_CHECKS:
        check(world)
