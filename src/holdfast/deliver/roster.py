"""The lanes of a delivery: opens their sinks in threads of their own, and lets them begin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.deliver.lane import DeliveryLane
from holdfast.deliver.opening import cursors_of, open_sink, prepare_new_lane, stop_what_is_not_retained
from holdfast.deliver.worker import Worker
from holdfast.ledger.gaps import is_detached
from holdfast.ledger.ledger import Ledger
from holdfast.model.errors import SinkDetached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from holdfast.deliver.core import Core
    from holdfast.deliver.crew import Crew
    from holdfast.deliver.reading import Reader
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.cursors import Cursors
    from holdfast.ledger.policy import Policy
    from holdfast.ledger.resume import Resume


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

    def open_one(self, spec: SinkSpec) -> DeliveryLane:
        """Open one more sink."""
        (lane,) = self.open([spec])
        return lane

    def attached(self, specs: Iterable[SinkSpec], known: Cursors) -> list[SinkSpec]:
        """The sinks that are delivered to. One that was detached stays so, and must not have become required."""
        sinks = list(specs)
        self._core.detached = {spec.name: spec for spec in sinks if is_detached(known.gaps.get(spec.name, ()))}
        for name, spec in self._core.detached.items():
            if spec.required:
                raise _is_detached(name, known.gaps[name][-1].after)
        return [spec for spec in sinks if spec.name not in self._core.detached]

    def begin(self, lanes: Sequence[DeliveryLane], known: Resume, sources: Iterable[str], policy: Policy) -> None:
        """Decide where every lane begins."""
        core = self._core
        for lane in lanes:
            prepare_new_lane(lane, known)
        with core.changing():
            known = replace(known, sink_cursors=cursors_of(lanes, known.cursors))
            declared = [*(lane.spec for lane in lanes), *core.detached.values()]
            core.ledger = ledger = Ledger(
                sources=sources, lanes=[spec.lane() for spec in declared], policy=policy, known=known
            )
            core.lanes = {lane.name: lane for lane in lanes}
            for lane in lanes:
                lane.catching_up_to = known.last_oseq
                stop_what_is_not_retained(lane, ledger.starts[lane.name], known.trimmed)
        _raise_what_a_required_lane_met(lanes)

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


def _is_detached(name: str, after: int) -> SinkDetached:
    return SinkDetached(
        f"Sink {name!r} is declared as required, but it was detached after batch {after} and misses what came since.",
        kept="Nothing was started; what the sink misses is on record.",
        remedy="Start it as an optional sink, attach it, and let it become required then; or give it a new name.",
        lane=name,
    )
