"""What is under way from a source to its log, as an edge of a graph."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

import pytest

from holdfast.flow import Backpressure, EdgePlan
from holdfast.model.errors import EdgeClosed, LogClosed
from meridian.sensors.flights import Flights
from meridian.sensors.landing import Flight, Leg

PLAN = EdgePlan(10, Backpressure("The test waits."))


def flight(count: int, settled: list[int]) -> Flight:
    """One that has not landed."""
    return Flight(count, [Leg(Future, lambda result: None)], settled=lambda: settled.append(count))


def land(flight: Flight) -> None:
    (leg,) = flight.legs
    leg.future = leg.begin()
    leg.future.set_result(None)


def test_what_has_landed_is_settled_in_order_and_its_room_is_free() -> None:
    flights, settled = Flights("radar-1 -> obs.radar-1", PLAN), list[int]()
    first, second = flight(4, settled), flight(8, settled)
    flights.begin(first)
    flights.begin(second)
    land(second)
    flights.settle()
    assert (settled, flights.under_way) == ([], 12)
    land(first)
    flights.settle()
    assert (settled, flights.under_way) == ([4, 8], 0)
    assert flights.stats().high_water == flights.stats().handled == 12


@pytest.mark.req("FLW-02")
def test_whoever_sends_waits_for_room_and_the_edge_is_full_meanwhile() -> None:
    async def scenario() -> None:
        flights, settled = Flights("radar-1 -> obs.radar-1", PLAN), list[int]()
        first = flight(10, settled)
        await flights.send([first])
        sending = asyncio.create_task(flights.send([flight(1, settled)]))
        await asyncio.sleep(0)
        assert (flights.under_way, flights.stats().fullness) == (10, 1.0)
        land(first)
        flights.settle()
        await sending
        assert flights.under_way == 1

    asyncio.run(scenario())


def test_nothing_is_sent_on_an_edge_that_is_closed() -> None:
    async def scenario() -> None:
        flights = Flights("radar-1 -> obs.radar-1", PLAN)
        flights.close()
        with pytest.raises(EdgeClosed):
            await flights.send([flight(1, [])])
        await flights.drained()

    asyncio.run(scenario())


def test_a_log_that_fails_is_told_to_both_ends() -> None:
    async def scenario() -> None:
        flights = Flights("radar-1 -> obs.radar-1", PLAN)
        flights.begin(flight(10, []))
        asking, landing = asyncio.create_task(flights.room()), asyncio.create_task(flights.drained())
        await asyncio.sleep(0)
        flights.fail(LogClosed("The inbox was closed.", remedy="Open it again."))
        assert not await asking
        with pytest.raises(LogClosed):
            await landing

    asyncio.run(scenario())
