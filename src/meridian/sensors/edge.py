"""The edge at work: opens the logs, runs every source of the document, and drains when it is told to stop.

A source that ends though nobody stopped it is a failure: the others go on, and health tells. What the process shows to
the outside is the affair of `control`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from meridian.sensors.station import Assembly

if TYPE_CHECKING:
    from meridian.sensors.config import EdgeDocument
    from meridian.sensors.source import Nanoclock
    from meridian.sensors.station import Station

logger = logging.getLogger(__name__)

DRAIN_SECONDS = 4.0
"""So long what is under way may take to become durable when the edge stops; a second is left for all else."""
_TICK = 0.25
_TICKS_A_TENDING = 8
"""What is not needed any more is forgotten every two seconds."""


class Edge:
    """All sources of one document.

    :param epoch: of this owner of the logs: not below that of any earlier one.
    """

    def __init__(self, document: EdgeDocument, *, epoch: int = 1, now_ns: Nanoclock = time.time_ns) -> None:
        self._held = ExitStack()
        self._assembly = Assembly(document, epoch, now_ns, self._held)
        self._ticking: asyncio.Task[None] | None = None
        self._told_ended: set[str] = set()
        self._ticks = 0
        self.stations: list[Station] = []
        self.is_stopping = False

    @property
    def is_healthy(self) -> bool:
        """Whether every source takes in and is looked after."""
        is_tended = self._ticking is not None and not self._ticking.done()
        return is_tended and all(station.is_alive for station in self.stations)

    async def start(self) -> None:
        """Open logs and sources; what is wrong with one of them is raised, and nothing stays open."""
        try:
            self.stations.extend(self._assembly.stations())
            for station in self.stations:
                await station.source.open()
        except BaseException:
            await self._close()
            raise
        for station in self.stations:
            station.running = asyncio.create_task(station.pump.run(), name=station.source.name)
            logger.info("source.started", extra=_declared(station))
        self._ticking = asyncio.create_task(self._tick())

    async def stop(self, *, seconds: float = DRAIN_SECONDS) -> int:
        """Take in nothing more, and let what is under way become durable; how many records did not in time."""
        self.is_stopping = True
        logger.info("edge.draining", extra={"under_way": self._under_way()})
        for station in self.stations:
            station.source.stop()
        running = [station.running for station in self.stations if station.running is not None]
        if running:
            await asyncio.wait(running, timeout=seconds)
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
        name = station.source.name
        if station.is_alive:
            station.pump.beat()
            if self._ticks % _TICKS_A_TENDING == 0:
                station.tend()
        elif not self.is_stopping and name not in self._told_ended:
            self._told_ended.add(name)
            logger.error("source.ended", extra={"source": name, "why": str(station.failure)})
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
        tasks = [self._ticking, *(station.running for station in self.stations)]
        for task in tasks:
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        for station in self.stations:
            await station.source.close()
        await asyncio.to_thread(self._held.close)


def _declared(station: Station) -> dict[str, object]:
    """What is said of the edge from a source to its log when it starts."""
    source, plan = station.source, station.pump.plan
    policy = None if plan.policy is None else plan.policy.name
    reason = None if plan.policy is None else plan.policy.reason
    profile = None if plan.profile is None else asdict(plan.profile)
    return {
        "source": source.name,
        "where": source.where,
        "edge": f"{source.name} -> {station.landing.inbox.name}",
        "capacity": plan.capacity,
        "policy": policy,
        "reason": reason,
        "profile": profile,
    }
