"""Copies of a world, and what tells two worlds apart. Both are fast: the explorer makes millions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.ledger.batches import Batches
from holdfast.ledger.lane import Lane
from holdfast.ledger.ledger import Ledger
from tests.model.world import World

if TYPE_CHECKING:
    from collections.abc import Callable


def clone(world: World) -> World:
    """An independent copy; values that are never changed in place are shared."""
    return _clone_world(world)  # type: ignore[return-value]


def key(world: World) -> tuple[object, ...]:
    """Everything that tells two states apart."""
    ledger = world.ledger
    stored = world.stored
    return (
        ledger.phase.value,
        ledger.stop_record is not None and ledger.stop_record.reason,
        ledger.policy,
        ledger.committed,
        ledger._changed,
        tuple(ledger.positions.items()),
        tuple([_lane_key(lane) for lane in ledger.lanes.values()]),
        world.outbox,
        world.trimmed,
        world.void,
        world.voided,
        ledger.batches.last_oseq,
        tuple(stored.delivered.items()),
        stored.committed,
        tuple(stored.joining.items()),
        stored.stop is None,
        tuple(stored.gaps.items()),
        tuple(world.gaps.items()),
        tuple(world.detached),
        world.unconfirmed is not None and (world.unconfirmed.committed, tuple(world.unconfirmed.delivered.items())),
        world.letters,
        tuple(world.sink_cursor.values()),
        tuple(world.told.items()),
        tuple(world.base.items()),
        tuple(world.resolved.values()),
        world.joined,
        tuple(world.since.values()),
        tuple(world.peak.items()),
        tuple(world.stored_peak.items()),
        tuple(world.budget),
    )


def _lane_key(lane: Lane) -> tuple[object, ...]:
    return (
        lane.name,
        lane.delivered,
        lane.since,
        tuple(lane.queued),
        frozenset(lane.in_flight.items()),
        frozenset(lane.retrying.items()),
        frozenset(lane.held.items()),
        frozenset(lane.dead_lettering.items()),
        frozenset(lane.pending_acks),
    )


def _copier(cls: type, *, copied: str = "", **deeper: Callable[[object], object]) -> Callable[[object], object]:
    """A function that copies an object of `cls` slot by slot, written out once: it is the explorer's hottest call.

    :param copied: slots whose value is copied with its own `copy`.
    :param deeper: slots whose value is copied by a function of their own. All other slots are shared.
    """
    lines = [f"def copy(old, new=cls.__new__, cls=cls{''.join(f', _{name}=deeper[{name!r}]' for name in deeper)}):"]
    lines.append("    other = new(cls)")
    for name in cls.__slots__:  # type: ignore[attr-defined]
        shallow = f"old.{name}.copy()" if name in copied.split() else f"old.{name}"
        lines.append(f"    other.{name} = {f'_{name}(old.{name})' if name in deeper else shallow}")
    scope: dict[str, object] = {"cls": cls, "deeper": deeper}
    exec("\n".join([*lines, "    return other"]), scope)
    return scope["copy"]  # type: ignore[return-value]


_clone_lane = _copier(Lane, copied="queued in_flight retrying held dead_lettering pending_acks window vanished")
_clone_ledger = _copier(
    Ledger,
    copied="positions _told _due starts gaps",
    batches=_copier(Batches, copied="retained uncommitted ends"),
    lanes=lambda lanes: {name: _clone_lane(lane) for name, lane in lanes.items()},  # type: ignore[attr-defined]
)
_clone_world = _copier(World, copied="budget", ledger=_clone_ledger)
