"""Drives one source into its logs: takes while there is room, settles in order, and says when it is silent.

What is under way is bounded. When the bound is reached the source is not asked: the archive waits, a satellite's window
closes, and for radar the kernel drops and counts. Taking and landing are two halves, the two operators that `graph`
declares; what is between them is `flights`. Whoever cancels one of them may start it again: what was taken is still
here, and on its way.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from holdfast.flow import Transient
from holdfast.model.errors import HoldfastError
from meridian.sensors.events import heartbeat
from meridian.sensors.flights import Flights
from meridian.sensors.idle import IdleRule
from meridian.sensors.landing import Flight, Landing, Leg, log_trouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from holdfast.flow import EdgePlan
    from meridian.sensors.meters import Meter
    from meridian.sensors.source import Nanoclock, ObservationSource, Taken

logger = logging.getLogger(__name__)

RETRY_PAUSE = 0.2


class Pump:
    """One source at work; used in one event loop.

    :param plan: the source is asked while fewer observations than its capacity are under way.
    """

    def __init__(
        self,
        source: ObservationSource,
        landing: Landing,
        *,
        plan: EdgePlan,
        now_ns: Nanoclock,
        idle: IdleRule | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.flights = Flights(f"{source.name} -> {landing.inbox.name}", plan)
        """What is under way."""
        self._landing = landing
        self._now_ns = now_ns
        self._clock = clock
        self._idle = idle or IdleRule()
        self._silent_since_ns = now_ns()
        self._last_beat_ns: int | None = None
        self._claimed_ns = 0

    @property
    def meter(self) -> Meter:
        """The figures of the source."""
        return self._landing.meter

    @property
    def under_way(self) -> int:
        """Observations and refusals that were taken and are not durable yet."""
        return self.flights.under_way

    @property
    def watermark_ns(self) -> int:
        """Before this time nothing more is to be expected from the source; 0 while nobody can tell."""
        newest = self.meter.newest_ns - self.source.traits.max_lateness_ns if self.meter.newest_ns else 0
        return max(newest, self._claimed_ns)

    async def run(self) -> None:
        """Both halves, one after the other."""
        await self.take()
        self.flights.close()
        await self.land()

    async def take(self) -> None:
        """Until the source has ended, or the logs have failed."""
        while await self.flights.room() and (taken := await self.source.next()) is not None:
            self._launch(taken)

    async def land(self) -> None:
        """Until the source has ended and everything is durable; raises what the logs cannot get over."""
        await self.flights.drained()

    def beat(self) -> None:
        """Say that the source is silent, if that is due. To be called now and then."""
        if not self.flights.are_none or self.flights.failure is not None:
            return
        now = self._now_ns()
        through = self._idle.heartbeat(
            now_ns=now,
            silent_since_ns=self._silent_since_ns,
            last_beat_ns=self._last_beat_ns,
            quiet_until_ns=self.source.quiet_until_ns(now),
            max_lateness_ns=self.source.traits.max_lateness_ns,
            watermark_ns=self.watermark_ns,
        )
        if through is not None:
            self._last_beat_ns, self._claimed_ns = now, through
            row = heartbeat(self.source.kind, self.source.name, through_ns=through, now_ns=now)
            self._begin(self._landing.heartbeat(row, self.source.mark))

    def _launch(self, taken: Taken) -> None:
        """Nothing is awaited between taking and this, so what was taken is never in nobody's hands."""
        self.meter.note_taken(taken, self._clock())
        self._silent_since_ns = taken.taken_ns
        self._begin(self._landing.flight(taken, self._clock()))

    def _begin(self, flight: Flight) -> None:
        self.flights.begin(flight)
        for leg in flight.legs:
            self._fly(leg)
        self.flights.settle()

    def _fly(self, leg: Leg) -> None:
        loop = asyncio.get_running_loop()
        try:
            leg.future = leg.begin()
        except HoldfastError as error:
            self._look_at(leg, error)
            return
        leg.future.add_done_callback(lambda future: loop.call_soon_threadsafe(self._landed, leg, future))

    def _landed(self, leg: Leg, future: Future[object]) -> None:
        match future.exception():
            case None:
                leg.arrived(future.result())
            case error:
                self._look_at(leg, error)
        self.flights.settle()

    def _look_at(self, leg: Leg, error: BaseException) -> None:
        """Fly again when that can help. Otherwise nothing more becomes durable: the source ends, and `land` tells."""
        if isinstance(error, Exception) and isinstance(log_trouble(error), Transient):
            self._fly_again(leg, error)
        else:
            self.flights.fail(error)
            self.source.stop()

    def _fly_again(self, leg: Leg, error: Exception) -> None:
        self.meter.retries += 1
        logger.warning("log.no_room", extra={"source": self.source.name, "why": str(error), "pause_s": RETRY_PAUSE})
        leg.future = None
        asyncio.get_running_loop().call_later(RETRY_PAUSE, self._fly, leg)
