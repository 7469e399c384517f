"""Sinks come and go while batches flow: added and removed, left out when they hold the outbox back, taken in again.

Each change is done by the conductor, between two writes of the cursors.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.deliver.opening import add_lane, move_to_what_is_kept, prepare_new_lane
from holdfast.ledger.resume import Resume
from holdfast.model.errors import LaneExists, LifecycleRefused, NotRetained, Transient, UnknownLane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.deliver.core import Core
    from holdfast.deliver.crew import Crew
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.operations import Operations
    from holdfast.deliver.roster import Roster
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.cursors import StopRecord
    from holdfast.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

_TRIES = 100
"""How often a lane is tried to be attached where the outbox begins, while that place moves on."""


class Membership:
    """Who is one of the ledger's lanes.

    :param patience: seconds to wait for the threads of a sink that is removed.
    """

    def __init__(self, core: Core, crew: Crew, roster: Roster, operations: Operations, *, patience: float) -> None:
        self._core = core
        self._crew = crew
        self._roster = roster
        self._operations = operations
        self._patience = patience

    def add(self, spec: SinkSpec) -> None:
        """Deliver to one more sink. It is added when its cursor is on disk."""
        with self._core.lock:
            self._core.check()
            self._refuse_known(spec.name)
        lane = self._roster.open_one(spec)
        try:
            with self._core.holding_creation():
                self._prepare(lane)
                self._operations.when_durable(lambda ledger: self._join(lane, ledger))
                self._core.wait_while_well(self._core.is_opened)
        except BaseException:
            lane.halt()
            raise

    def remove(self, name: str) -> StopRecord:
        """Deliver no more to a sink, and hold nothing back for it. Returns what it leaves undone."""
        record = self._operations.when_durable(lambda ledger: self._leave(name, ledger))
        self._core.wait_while_well(self._core.is_durable)
        self._crew.wait_until_ended(self._patience, team=name)
        return record

    def holding_back(self) -> list[str]:
        """The lanes that may be detached and without which the outbox could forget more, the slowest first."""
        with self._core.lock:
            return _holding_back(self._core.ledger, self._core.lanes.values())

    def detach(self, name: str) -> None:
        """Leave a lane out that holds the outbox back. It is done soon; who asks does not wait for a store or sink."""
        self._operations.soon(lambda ledger: self._detach(name, ledger))

    def attach(self, name: str) -> None:
        """Deliver again to a sink that was detached, from where the outbox still is."""
        lane = self._roster.open_one(self._to_be_attached(name))
        had = lane.cursor
        try:
            _see_that_it_is_open(lane)
            for left in reversed(range(_TRIES)):
                try:
                    self._move_to_what_is_kept(lane)
                    self._operations.when_durable(lambda ledger: self._join_again(lane, ledger, had))
                    break
                except NotRetained:  # the outbox has moved on meanwhile
                    if not left:
                        raise
            self._core.wait_while_well(self._core.is_opened)
        except BaseException:
            lane.halt()
            raise

    # Operations of the conductor

    def _join(self, lane: DeliveryLane, ledger: Ledger) -> None:
        """A lane is added to the ledger. It sends nothing before the cursors on disk name it."""
        add_lane(lane, ledger)
        self._takes_part(lane, ledger)

    def _leave(self, name: str, ledger: Ledger) -> StopRecord:
        """A lane is taken out of the ledger; its workers end as soon as the sink lets them."""
        record = ledger.remove_lane(name)
        if self._core.detached.pop(name, None) is None:
            self._core.lanes.pop(name).halt()
        return record

    def _detach(self, name: str, ledger: Ledger) -> None:
        """Unless it has ceased to hold anything back meanwhile."""
        if name in _holding_back(ledger, self._core.lanes.values()):
            ledger.detach_lane(name)
            lane = self._core.lanes.pop(name)
            self._core.detached[name] = lane.spec
            lane.halt()
            logger.error("lane %s is detached after batch %d: the outbox is full", name, ledger.gaps[name][-1].after)

    def _join_again(self, lane: DeliveryLane, ledger: Ledger, had: int | None) -> None:
        start = ledger.attach_lane(lane.spec.lane(), sink_cursor=lane.cursor, had=had)
        del self._core.detached[lane.name]
        self._takes_part(lane, ledger)
        logger.warning("lane %s is attached again and goes on after batch %d", lane.name, start.delivered)

    def _takes_part(self, lane: DeliveryLane, ledger: Ledger) -> None:
        lane.catching_up_to = ledger.batches.last_oseq
        self._core.lanes[lane.name] = lane

    # Before them

    def _refuse_known(self, name: str) -> None:
        if name in self._core.ledger.lanes or name in self._core.detached:
            raise LaneExists(
                f"There is a sink {name!r} already.",
                remedy="Choose another name, or remove the sink first; attach it if it is detached.",
                lane=name,
            )

    def _prepare(self, lane: DeliveryLane) -> None:
        """Before a lane joins: see that its sink is open, and let it say where the lane begins."""
        with self._core.lock:
            ledger = self._core.ledger
            known = Resume(ledger.cursors(), last_oseq=ledger.batches.last_oseq, trimmed=ledger.batches.released)
        if lane.failure is not None:
            raise lane.failure
        prepare_new_lane(lane, known)

    def _to_be_attached(self, name: str) -> SinkSpec:
        with self._core.lock:
            self._core.check()
            spec = self._core.detached.get(name)
            is_busy = bool(self._crew.running(name))
        if spec is None:
            raise UnknownLane(
                f"There is no sink {name!r} that is detached.",
                remedy="Attach only what the status shows as detached; a sink that was never there is added.",
                lane=name,
            )
        if is_busy:
            raise LifecycleRefused(
                f"A thread is still busy in sink {name!r}, from before it was detached.",
                remedy="Attach it when the sink answers again, or start the pipeline again.",
                lane=name,
            )
        return spec

    def _move_to_what_is_kept(self, lane: DeliveryLane) -> None:
        with self._core.lock:
            begins = self._core.ledger.batches.released
        move_to_what_is_kept(lane, begins)


def _holding_back(ledger: Ledger, lanes: Iterable[DeliveryLane]) -> list[str]:
    """Detaching others would free nothing: a lane that must stay, or the policy, needs the same batches."""
    may_go = {lane.name for lane in lanes if lane.spec.may_be_detached and ledger.can_do_without(lane.name)}
    staying = [lane.delivered for name, lane in ledger.lanes.items() if name not in may_go]
    needed = min([ledger.committed, *staying])
    behind = [lane for name, lane in ledger.lanes.items() if name in may_go and lane.delivered < needed]
    return [lane.name for lane in sorted(behind, key=lambda lane: lane.delivered)]


def _see_that_it_is_open(lane: DeliveryLane) -> None:
    if lane.failure is not None:
        raise lane.failure
    if not lane.is_open:
        raise Transient(
            f"Sink {lane.name!r} is to be attached and cannot be reached: {lane.last_error}.",
            remedy="Make the sink reachable first.",
            lane=lane.name,
        )
