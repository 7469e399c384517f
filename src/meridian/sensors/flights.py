"""What is under way from a source to its log: the edge between the two, whose every item is in the air already.

An edge of a graph hands batches over one at a time. A log makes many of them durable with one sync, so between source
and log that would be one batch a sync, and one that is taken and not yet begun would be in nobody's hands while its
sender waits for room. So here a flight is begun in the same breath in which it was taken, and this is where it is
counted until it has landed. Nothing waits between taking and the log.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from holdfast.flow import Channel, EdgeStats
from meridian.sensors.landing import Flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.flow import EdgePlan


class Flights(Channel[Flight]):
    """The edge from one source to its log; what is on it is counted in observations and refusals.

    :param plan: the source is asked while fewer than its capacity are under way, so what it then gives may be more.
    """

    def __init__(self, name: str, plan: EdgePlan) -> None:
        super().__init__(name)
        self.plan = plan
        self.failure: BaseException | None = None
        """What the log cannot get over: nothing lands any more."""
        self._in_the_air: deque[Flight] = deque()
        self._begun = self._landed = self._most = 0

    @property
    def under_way(self) -> int:
        """Observations and refusals that were taken and are not durable yet."""
        return self._begun - self._landed

    @property
    def are_none(self) -> bool:
        """Whether everything that was taken is durable."""
        return not self._in_the_air

    # The sender's end

    @property
    def is_over(self) -> bool:
        """Whether nothing more is taken in: the source has ended, or the log has failed."""
        return self._closed or self.failure is not None

    async def room(self) -> bool:
        """Wait until the source may be asked; False when it need not be asked any more."""
        if not self.is_over and not self._turns.is_free(1):
            await self._turns.wait(1)
        return not self.is_over

    def begin(self, flight: Flight) -> None:
        """Take it in. Nothing is awaited, so whoever took it from outside has never held it alone."""
        self._in_the_air.append(flight)
        self._begun += flight.count
        self._most = max(self._most, self.under_way)

    async def send(self, batch: Sequence[Flight]) -> None:
        """The same for several, once there is room."""
        await self.room()
        self._refuse_when_closed()
        for flight in batch:
            self.begin(flight)

    # The log's end

    def settle(self) -> None:
        """Be done with what has landed; in order, so that an answer for one frame is never before an earlier one."""
        while self._in_the_air and self._in_the_air[0].has_landed:
            self.handled()

    def handled(self) -> None:
        """The first one is durable: whoever waits for that is told, and its room is free."""
        flight = self._in_the_air.popleft()
        self._landed += flight.count
        flight.settled()
        self._turns.call()
        self._news.set()

    def fail(self, error: BaseException) -> None:
        """Nothing lands any more; whoever waits for that, or for room, is told."""
        self.failure = error
        self._news.set()
        self._turns.call_all()

    async def drained(self) -> None:
        """Wait until the source has ended and everything is durable; raises what the log cannot get over."""
        while not self.is_drained and self.failure is None:
            self._news.clear()
            await self._news.wait()
        if self.failure is not None:
            raise self.failure

    # What it says about itself

    def stats(self) -> EdgeStats:
        """The edge now."""
        capacity, policy = self.plan.capacity, self.plan.policy
        return EdgeStats(
            self.name,
            "none" if policy is None else policy.name,
            capacity=capacity,
            occupancy=self.under_way,
            high_water=self._most,
            accepted=self._begun,
            handled=self._landed,
            fullness=1.0 if self._turns else self.under_way / capacity,
        )

    def _head(self) -> Sequence[Flight] | None:
        return (self._in_the_air[0],) if self._in_the_air else None

    def _room(self) -> int:
        return self.plan.capacity - self.under_way
