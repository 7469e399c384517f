"""On an edge with priorities, high goes first and is never shed, low is shed first, and both are drained."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cancelling import cancelled_at
from tests.support.virtual_time import run_virtually

from holdfast.flow import Backpressure, ByPriority, Edge, Priority, PriorityEdge
from holdfast.model.errors import BatchTooLarge, EdgeClosed

R = TypeVar("R")


def sign(item: int) -> Priority:
    return Priority.LOW if item < 0 else Priority.HIGH


POLICY = ByPriority(sign, "a test")


def edge(capacity: int = 4096) -> PriorityEdge[int]:
    return PriorityEdge("e", capacity, POLICY)


def run(scenario: Coroutine[None, None, R]) -> R:
    return run_virtually(scenario)


async def drained(edge: PriorityEdge[int]) -> list[int]:
    edge.close()
    return [item async for batch in edge for item in batch]


def shed(edge: PriorityEdge[int]) -> dict[Priority | None, int]:
    return {drop.priority: drop.items for drop in edge.stats().drops}


def low(items: int) -> list[int]:
    return list(range(-items, 0))


def high(items: int) -> list[int]:
    return list(range(items))


@pytest.mark.req("PRI-02")
def test_each_priority_has_a_room_of_its_own() -> None:
    async def scenario() -> None:
        lanes = edge()
        await lanes.send(low(1025))
        assert shed(lanes)[Priority.LOW] == 1
        await lanes.send(high(3072))
        assert lanes.stats().occupancy == 4096
        with pytest.raises(BatchTooLarge, match="3073"):
            await lanes.send(high(3073))

    run(scenario())


@pytest.mark.req("PRI-02")
@pytest.mark.parametrize(
    ("in_it", "let_in"), [(2253, 1023), (3072, 204), (2252, 1024), (0, 1024)], ids=["over", "full", "at", "empty"]
)
def test_low_priority_is_let_in_up_to_the_high_water_mark(in_it: int, let_in: int) -> None:
    async def scenario() -> int:
        lanes = edge()
        await lanes.send(high(in_it))
        await lanes.send(low(1024))
        return lanes.stats().occupancy - in_it

    assert run(scenario()) == let_in


@pytest.mark.req("PRI-02", "PRI-04")
def test_high_priority_waits_for_room_and_is_never_shed() -> None:
    async def scenario() -> None:
        lanes = edge(8)
        await lanes.send(high(6))
        sending = asyncio.create_task(lanes.send([100, -100]))
        await asyncio.sleep(1)
        assert not sending.done()
        assert await lanes.take() == high(6)
        lanes.handled()
        await sending
        assert await drained(lanes) == [100, -100]
        assert shed(lanes) == {Priority.HIGH: 0, Priority.LOW: 0}

    run(scenario())


@pytest.mark.req("PRI-03")
def test_high_priority_is_served_first_whenever_there_is_any() -> None:
    async def scenario() -> list[Sequence[int] | None]:
        lanes, served = edge(), []
        for batch in ([-1], [-2, 2], [-3]):
            await lanes.send(batch)
        served.append(await lanes.take())
        lanes.handled()
        served.append(await lanes.take())
        await lanes.send([3])
        lanes.handled()
        for _ in range(2):
            served.append(await lanes.take())
            lanes.handled()
        return served

    assert run(scenario()) == [[2], [-1], [3], [-2]]


@pytest.mark.req("PRI-03")
@pytest.mark.parametrize("last", [Priority.HIGH, Priority.LOW], ids=["high is left", "low is left"])
def test_both_are_drained_at_the_end(last: Priority) -> None:
    async def scenario() -> list[int]:
        lanes = edge()
        await lanes.send([1, -1, 2, -2] if last is Priority.LOW else [1, 2])
        return await drained(lanes)

    assert run(scenario()) == ([1, 2, -1, -2] if last is Priority.LOW else [1, 2])


@pytest.mark.req("PRI-04")
def test_decisions_and_drops_are_counted_by_priority() -> None:
    async def scenario() -> None:
        lanes = edge(40)
        await lanes.send([*high(25), *low(20)])
        assert lanes.decisions == {Priority.HIGH: 25, Priority.LOW: 20}
        assert shed(lanes) == {Priority.HIGH: 0, Priority.LOW: 13}
        assert lanes.stats().occupancy == 32

    run(scenario())


def test_a_receiver_that_keeps_up_loses_nothing_to_a_sender_that_never_waits() -> None:
    async def scenario() -> tuple[int, int]:
        first, second, received = Edge[int]("first", 10_000, Backpressure("a test")), edge(), 0

        async def pass_on() -> None:
            async for batch in first:
                await second.send(batch)
            second.close()

        async def receive() -> None:
            nonlocal received
            async for batch in second:
                received += len(batch)

        for _ in range(100):
            await first.send(low(50))
        first.close()
        await asyncio.gather(pass_on(), receive())
        return received, shed(second)[Priority.LOW]

    assert run(scenario()) == (5000, 0)


@pytest.mark.parametrize(("batch", "fullness"), [(high(15), 0.5), (low(5), 0.5), ([*high(3), *low(8)], 0.8)])
def test_it_is_as_full_as_the_fuller_of_its_rooms(batch: list[int], fullness: float) -> None:
    async def scenario() -> float:
        lanes = edge(40)
        await lanes.send(batch)
        return lanes.stats().fullness

    assert run(scenario()) == fullness


def test_a_batch_of_low_priority_in_hand_is_not_exchanged_for_a_high_one() -> None:
    async def scenario() -> None:
        lanes = edge()
        await lanes.send([-1])
        assert await lanes.take() == [-1]
        await lanes.send([1])
        assert await lanes.take() == [-1]
        lanes.handled()
        assert await drained(lanes) == [1]

    run(scenario())


def test_a_sender_that_waits_is_told_when_it_is_closed() -> None:
    async def scenario() -> None:
        lanes = edge(8)
        await lanes.send(high(6))
        sending = asyncio.create_task(lanes.send([7]))
        await asyncio.sleep(1)
        lanes.close()
        with pytest.raises(EdgeClosed):
            await sending

    run(scenario())


@settings(max_examples=100)
@given(
    batches=st.lists(st.lists(st.sampled_from([1, -1]), min_size=1, max_size=6), max_size=12),
    steps=st.lists(st.integers(0, 5), max_size=20),
)
def test_cancelling_loses_and_repeats_nothing(batches: list[list[int]], steps: list[int]) -> None:
    numbers = iter(range(1, 1000))
    numbered = [[sign * next(numbers) for sign in batch] for batch in batches]
    sent = 0
    received: list[int] = []

    async def scenario() -> PriorityEdge[int]:
        lanes = edge(12)

        async def source() -> None:
            nonlocal sent
            while sent < len(numbered):
                await lanes.send(numbered[sent])
                sent += 1
            lanes.close()

        async def sink() -> None:
            async for batch in lanes:
                await asyncio.sleep(0)
                received.extend(batch)

        draining = asyncio.create_task(cancelled_at(steps[::2], sink))
        await cancelled_at(steps[1::2], source)
        await draining
        return lanes

    lanes = run(scenario())
    every = [item for batch in numbered for item in batch]
    assert [item for item in received if item > 0] == [item for item in every if item > 0]
    assert len(received) == len(set(received))
    assert len(received) + shed(lanes)[Priority.LOW] == len(every)
