"""Where a lane begins: after a restart, when a sink is added, and when the sink remembers another cursor than we do.

Pure. The cursor that a sink keeps inside itself is the truth about that sink, both ways: if it is ahead of ours, our
last write was lost and we skip; if it is behind, the sink was restored from a backup and we deliver again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from holdfast.ledger.cursors import Cursors
from holdfast.ledger.lane import LaneSpec, Start
from holdfast.model.errors import BatchNotNew, CursorAhead, NotRetained
from holdfast.model.positions import Position


class Batch(NamedTuple):
    """A batch of the outbox, and where each source that moved stands after it."""

    oseq: int
    ends: Mapping[str, Position]


@dataclass(frozen=True, slots=True)
class Resume:
    """What is known at a start: the persisted cursors, the outbox, and the cursors that sinks hold themselves."""

    cursors: Cursors = field(default_factory=lambda: Cursors(delivered={}))
    batches: Sequence[Batch] = ()
    """What the outbox still has, ascending."""
    last_oseq: int = 0
    """The highest number the outbox ever gave out."""
    trimmed: int = 0
    """Batches up to this one may be gone from the outbox."""
    sink_cursors: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.cursors.committed > self.last_oseq:
            raise _ahead("The stored `committed`", self.cursors.committed, self.last_oseq)
        numbers = [self.trimmed, *(batch.oseq for batch in self.batches)]
        if any(later <= earlier for earlier, later in pairwise(numbers)) or numbers[-1] > self.last_oseq:
            raise BatchNotNew(
                f"Batches {numbers[1:]} are not ascending from above {self.trimmed} to at most {self.last_oseq}.",
                remedy="Read the outbox in order, and tell the highest number it ever gave out.",
            )


class Route(Enum):
    """How a lane came by its starting point."""

    RESUMED = "resumed from our cursor"
    SINK_AHEAD = "the sink has more than we had recorded: those batches are skipped"
    SINK_BEHIND = "the sink has less than we had recorded: those batches are delivered again"
    NEW = "a new lane"
    DETACHED = "the lane was detached: it is given nothing until it is attached again"
    NOT_RETAINED = "the sink needs batches that are no longer kept: the lane is stopped"


@dataclass(frozen=True, slots=True)
class LaneStart:
    """The batch after which a lane begins, and why."""

    delivered: int
    route: Route
    since: int | None = None
    """For a lane that does not count in the policy yet: the batch after which it first began."""


def lane_start(spec: LaneSpec, known: Resume) -> LaneStart:
    """Decide where the lane begins."""
    ours = known.cursors.delivered.get(spec.name)
    sinks = known.sink_cursors.get(spec.name)
    if sinks is not None:
        delivered = _published(sinks, f"The cursor inside sink {spec.name!r}", known)
    elif ours is not None:
        delivered = _published(ours, f"Our cursor of lane {spec.name!r}", known)
    else:
        delivered = _first_start(spec, known)
    since = _first_batch_owed(spec, delivered) if ours is None else known.cursors.joining.get(spec.name)
    return LaneStart(delivered, _route(delivered, ours, known), since)


def _first_batch_owed(spec: LaneSpec, delivered: int) -> int:
    """For a lane that we know nothing of: a sink that began at the earliest batch has had all up to its cursor."""
    if isinstance(spec.start, int):
        return min(spec.start, delivered)
    return 0 if spec.start.is_from_the_first else delivered


def _route(delivered: int, ours: int | None, known: Resume) -> Route:
    if delivered < known.trimmed:
        return Route.NOT_RETAINED
    if ours is None:
        return Route.NEW
    if delivered == ours:
        return Route.RESUMED
    return Route.SINK_AHEAD if delivered > ours else Route.SINK_BEHIND


def _first_start(spec: LaneSpec, known: Resume) -> int:
    if spec.start is Start.NOW:
        return known.last_oseq
    after = spec.start if isinstance(spec.start, int) else 0
    if after < known.trimmed:
        raise _not_retained(spec.name, after, known.trimmed)
    return _published(after, f"The start of lane {spec.name!r}", known)


def attached_start(spec: LaneSpec, delivered: int, known: Resume) -> LaneStart:
    """Where a lane that was detached goes on: where the outbox still is, and not before what its sink has.

    :param delivered: what the lane had resolved when it was detached.
    """
    sinks = known.sink_cursors.get(spec.name)
    if sinks is not None:
        delivered = _published(sinks, f"The cursor inside sink {spec.name!r}", known)
        if delivered < known.trimmed:
            raise _not_retained(spec.name, delivered, known.trimmed)
    start = max(delivered, known.trimmed)
    return LaneStart(start, Route.NEW, since=start)


def _not_retained(lane: str, after: int, trimmed: int) -> NotRetained:
    return NotRetained(
        f"Lane {lane!r} is to start after batch {after}, but batches {after + 1} to {trimmed} are gone.",
        remedy=f"Start it at `now` or after batch {trimmed}, and fill the sink with what came before by other means.",
        lane=lane,
        missing=(after + 1, trimmed),
    )


def _published(oseq: int, what: str, known: Resume) -> int:
    if oseq > known.last_oseq:
        raise _ahead(what, oseq, known.last_oseq)
    return oseq


def _ahead(what: str, oseq: int, last_oseq: int) -> CursorAhead:
    return CursorAhead(
        f"{what} is at batch {oseq}, but the outbox never published more than {last_oseq}.",
        remedy="The outbox was lost or replaced by an older copy: restore it, or roll the cursors back to match it.",
        oseq=oseq,
        last_oseq=last_oseq,
    )
