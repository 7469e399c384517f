"""Situations that a search must have met, else its silence proves nothing (M11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ledger.cursors import StopReason
from holdfast.ledger.resume import Route
from tests.model.world import DRAINING, STOPPED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.model.world import Operation, World

OPERATIONS = frozenset(
    {"create", "send", "apply", "ack", "fail", "hold", "vanish", "retry", "reject", "bury", "dead_lettered"}
    | {"write", "confirm", "crash", "drain", "stop", "force_stop"}
    | {"add_lane", "remove_lane", "detach_lane", "attach_lane", "change_policy", "roll_back_lane", "roll_back"}
)

SITUATIONS: dict[str, Callable[[World, Operation], bool]] = {
    "answered above a hole": lambda world, _: any(lane.pending_acks for lane in world.ledger.lanes.values()),
    "committed": lambda world, _: world.ledger.committed > 0,
    "a source was told": lambda world, _: bool(world.told),
    "batches were released": lambda world, _: world.trimmed > 0,
    "a rejected batch was passed": lambda world, _: any(lane.rejected for lane in world.ledger.lanes.values()),
    "held while draining": lambda world, _: (
        world.ledger.phase is DRAINING and any(lane.held for lane in world.ledger.lanes.values())
    ),
    "stopped gracefully, with batches remaining": lambda world, _: (
        world.last_stop is not None
        and world.last_stop.reason is StopReason.GRACEFUL
        and bool(world.last_stop.remaining)
    ),
    "stopped by force, with batches abandoned": lambda world, _: (
        world.ledger.phase is STOPPED and world.last_stop is not None and bool(world.last_stop.abandoned)
    ),
    "restarted after a recorded stop": lambda world, operation: (
        operation[0] == "crash" and world.stored.stop is not None
    ),
    "the sink was ahead of our cursor": lambda world, _: _began(world, Route.SINK_AHEAD),
    "the sink was behind our cursor": lambda world, _: _began(world, Route.SINK_BEHIND),
    "the sink needs batches that are gone": lambda world, _: _began(world, Route.NOT_RETAINED),
    "a lane is joining": lambda world, _: any(not lane.counts for lane in world.ledger.lanes.values()),
    "a lane has joined": lambda world, _: "c" in world.joined,
    "a sink was detached over a restart": lambda world, operation: operation[0] == "crash" and bool(world.detached),
    "a sink was attached and misses batches": lambda world, operation: (
        operation[0] == "attach_lane" and any(gaps and gaps[-1][1] is not None for gaps in world.gaps.values())
    ),
    "a policy change committed something": lambda world, operation: (
        operation[0] == "change_policy" and world.ledger.committed > 0
    ),
    "numbers have a hole after a rollback": lambda world, operation: (
        operation[0] == "create" and 0 < world.voided < world.ledger.batches.last_oseq
    ),
}


def situations(world: World, operation: Operation) -> set[str]:
    """The situations that this state shows."""
    return {name for name, shows in SITUATIONS.items() if shows(world, operation)}


def _began(world: World, route: Route) -> bool:
    return any(start.route is route for start in world.ledger.starts.values())
