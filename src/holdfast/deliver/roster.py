"""The lanes of a delivery: opens their sinks in threads of their own, lets them begin, adds and removes them.

Who may call what: `join` and `leave` are operations of the conductor; the rest is called by whoever starts or changes
the delivery.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.deliver.lane import DeliveryLane
from holdfast.deliver.opening import add_lane, cursors_of, open_sink, prepare_new_lane, stop_what_is_not_retained
from holdfast.deliver.worker import Worker
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.resume import Resume
from holdfast.model.errors import LaneExists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.deliver.core import Core
    from holdfast.deliver.crew import Crew
    from holdfast.deliver.reading import Reader
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.cursors import StopRecord
    from holdfast.ledger.policy import Policy


class Roster:
    """Who delivers, and who is about to.

    :param new_lane: makes the lane of a sink.
    :param patience: seconds to wait for sinks to open.
    """

    def __init__(
        self,
        core: Core,
        crew: Crew,
        reader: Reader,
        *,
        new_lane: Callable[[SinkSpec], DeliveryLane],
        patience: float,
    ) -> None:
        self._core = core
        self._crew = crew
        self._reader = reader
        self._new_lane = new_lane
        self._patience = patience

    def open(self, specs: Iterable[SinkSpec]) -> list[DeliveryLane]:
        """Open the sinks, all at once. Those that take longer than we wait go on trying."""
        lanes = [self._new_lane(spec) for spec in specs]
        for lane in lanes:
            self._start_workers(lane)
        self._wait_for_opening(lanes)
        return lanes

    def begin(self, lanes: Sequence[DeliveryLane], known: Resume, sources: Iterable[str], policy: Policy) -> None:
        """Decide where every lane begins."""
        core = self._core
        for lane in lanes:
            prepare_new_lane(lane, known)
        with core.changing():
            known = replace(known, sink_cursors=cursors_of(lanes, known.cursors))
            core.ledger = ledger = Ledger(
                sources=sources, lanes=[lane.spec.lane() for lane in lanes], policy=policy, known=known
            )
            core.lanes = {lane.name: lane for lane in lanes}
            for lane in lanes:
                lane.catching_up_to = known.last_oseq
                stop_what_is_not_retained(lane, ledger.starts[lane.name], known.trimmed)
        _raise_what_a_required_lane_met(lanes)

    def refuse_known(self, name: str) -> None:
        """Raise when there is such a lane."""
        if name in self._core.ledger.lanes:
            raise LaneExists(
                f"There is a sink {name!r} already.",
                remedy="Choose another name, or remove the sink first.",
                lane=name,
            )

    def prepare(self, lane: DeliveryLane) -> None:
        """Before a lane joins: see that its sink is open, and let it say where the lane begins."""
        with self._core.lock:
            ledger = self._core.ledger
            known = Resume(ledger.cursors(), last_oseq=ledger.batches.last_oseq, trimmed=ledger.batches.released)
        if lane.failure is not None:
            raise lane.failure
        prepare_new_lane(lane, known)

    def join(self, lane: DeliveryLane, ledger: Ledger) -> None:
        """A lane is added to the ledger. It sends nothing before the cursors on disk name it."""
        add_lane(lane, ledger)
        lane.catching_up_to = ledger.batches.last_oseq
        self._core.lanes[lane.name] = lane

    def leave(self, name: str, ledger: Ledger) -> StopRecord:
        """A lane is taken out of the ledger; its workers end as soon as the sink lets them."""
        record = ledger.remove_lane(name)
        self._core.lanes.pop(name).halt()
        return record

    def _start_workers(self, lane: DeliveryLane) -> None:
        lane.enter()
        self._crew.start(lane.name, lambda: self._work(lane, open_sink))
        for _ in range(1, lane.spec.workers):
            self._crew.start(lane.name, lambda: self._work(lane, _somebody_else_opens))

    def _work(self, lane: DeliveryLane, open_: Callable[[DeliveryLane], None]) -> None:
        try:
            open_(lane)
            Worker(lane, self._reader).run()
        finally:
            lane.leave()

    def _wait_for_opening(self, lanes: Sequence[DeliveryLane]) -> None:
        def all_have_answered() -> bool:
            self._core.check()
            return all(lane.is_open or lane.last_error is not None for lane in lanes)

        self._core.wait_for(all_have_answered, self._patience)


def _somebody_else_opens(lane: DeliveryLane) -> None:
    """The first worker of a lane opens its sink."""


def _raise_what_a_required_lane_met(lanes: Sequence[DeliveryLane]) -> None:
    for lane in lanes:
        if lane.failure is not None and lane.spec.required:
            raise lane.failure
