"""The edge at work: opens the logs, runs the graph of all stations, and drains when it is told to stop.

A source that ends though nobody stopped it is a failure: the others go on, and health tells. Who is started again is
declared in `graph`, and what the process shows to the outside is the affair of `control`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from holdfast.flow import OperatorState
from meridian.sensors.graph import edge_graph
from meridian.sensors.station import Assembly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.flow import BuiltGraph, Metric, OperatorHealth, Outcome
    from meridian.sensors.config import EdgeDocument
    from meridian.sensors.source import Nanoclock
    from meridian.sensors.station import Station

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 4.0
"""So long what is under way may take to become durable when the edge stops; a second is left for all else."""
_TICK = 0.25
_TICKS_A_TENDING = 8
"""What is not needed any more is forgotten every two seconds."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the two operators of a station are."""

    operators: tuple[OperatorHealth, ...]

    @property
    def is_alive(self) -> bool:
        """Whether it takes in, and what it takes can land."""
        return bool(self.operators) and all(each.state is OperatorState.RUNNING for each in self.operators)

    @property
    def why(self) -> str | None:
        """What ended it; None when it runs, or was stopped."""
        return next((each.error for each in self.operators if each.state is OperatorState.FAILED), None)


class Edge:
    """All sources of one document.

    :param epoch: of this owner of the logs: not below that of any earlier one.
    """

    def __init__(self, document: EdgeDocument, *, epoch: int = 1, now_ns: Nanoclock = time.time_ns) -> None:
        self._held = ExitStack()
        self._assembly = Assembly(document, epoch, now_ns, self._held)
        self._graph: BuiltGraph | None = None
        self._running: asyncio.Task[Outcome] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._told_ended: set[str] = set()
        self._ticks = 0
        self.stations: list[Station] = []
        self.is_stopping = False

    @property
    def is_healthy(self) -> bool:
        """Whether every source takes in and is looked after."""
        is_tended = self._ticking is not None and not self._ticking.done()
        return is_tended and all(self.standing(station).is_alive for station in self.stations)

    def standing(self, station: Station) -> Standing:
        """How a station is."""
        operators = () if self._graph is None else self._graph.health().operators
        return Standing(tuple(each for each in operators if each.operator in station.operators))

    def metrics(self) -> Sequence[Metric]:
        """The figures of all operators and edges."""
        return () if self._graph is None else self._graph.metrics()

    async def start(self) -> None:
        """Open logs and sources; what is wrong with one of them is raised, and nothing stays open."""
        try:
            self.stations.extend(self._assembly.stations())
            for station in self.stations:
                await station.source.open()
        except BaseException:
            await self._close()
            raise
        self._graph = edge_graph(self.stations).build(grace=DRAIN_SECONDS)
        self._running = asyncio.create_task(self._graph.run(), name="edge")
        await asyncio.sleep(0)  # in which the operators are started
        for station in self.stations:
            logger.info("source.started", extra=_declared(station))
        self._ticking = asyncio.create_task(self._tick())

    async def stop(self, *, seconds: float = DRAIN_SECONDS) -> int:
        """Take in nothing more, and let what is under way become durable; how many records did not in time."""
        self.is_stopping = True
        logger.info("edge.draining", extra={"under_way": self._under_way()})
        if self._graph is not None and self._running is not None:
            self._graph.stop()
            await asyncio.wait([self._running], timeout=seconds)
        left = self._under_way()
        await self._close()
        logger.info("edge.stopped", extra={"left": left})
        return left

    def _under_way(self) -> int:
        return sum(station.pump.under_way for station in self.stations)

    async def _tick(self) -> None:
        """Now and then: heartbeats of silent sources, ids that are too many, and a line about what was dropped."""
        while True:
            await asyncio.sleep(_TICK)
            self._ticks += 1
            for station in self.stations:
                self._tend(station)

    def _tend(self, station: Station) -> None:
        name, standing = station.source.name, self.standing(station)
        if standing.is_alive:
            station.pump.beat()
            if self._ticks % _TICKS_A_TENDING == 0:
                station.tend()
        elif not self.is_stopping and name not in self._told_ended:
            self._told_ended.add(name)
            logger.error("source.ended", extra={"source": name, "why": standing.why})
        self._raise_alarms(station)
        new = station.source.drops - station.told
        if new:
            station.told = Counter(station.source.drops)
            logger.warning("source.dropped", extra={"source": name, "new": dict(new)})

    def _raise_alarms(self, station: Station) -> None:
        """Alarms come and go; each of the two is one line of the log."""
        raised, source = station.watched(time.monotonic()), station.source
        for name in raised.keys() - station.raised.keys():
            logger.error("alarm.raised", extra={"source": source.name, "alarm": name, "why": raised[name]})
        for name in station.raised.keys() - raised.keys():
            logger.info("alarm.cleared", extra={"source": source.name, "alarm": name})
        station.raised = raised

    async def _close(self) -> None:
        for task in (self._ticking, self._running):
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        for station in self.stations:
            await station.source.close()
        await asyncio.to_thread(self._held.close)


def _declared(station: Station) -> dict[str, object]:
    """What is said of the edge from a source to its log when it starts."""
    source, plan = station.source, station.pump.flights.plan
    policy = None if plan.policy is None else plan.policy.name
    reason = None if plan.policy is None else plan.policy.reason
    profile = None if plan.profile is None else asdict(plan.profile)
    return {
        "source": source.name,
        "where": source.where,
        "edge": station.pump.flights.name,
        "capacity": plan.capacity,
        "policy": policy,
        "reason": reason,
        "profile": profile,
    }
