"""An edge does what its policy says when it is full, and cancelling either of its sides loses and repeats nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from itertools import chain, cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cancelling import cancelled_at
from tests.support.virtual_time import run_virtually

from holdfast.flow import Backpressure, Edge, Inlet, Outlet, Shed, Timed
from holdfast.model.errors import BatchTooLarge, EdgeClosed, InvalidFlowPolicy

WAIT = Backpressure("a test")
DROP = Shed("a test")
HURRY = Timed(0.2, "a test")


async def all_of(inlet: Inlet[int]) -> list[int]:
    return [item async for batch in inlet for item in batch]


async def filled(edge: Edge[int]) -> Edge[int]:
    await edge.send(range(edge.stats().capacity))
    return edge


class Buried:
    """Dead letters in memory."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.at: list[float] = []

    def __call__(self, edge: str, batch: Sequence[int]) -> None:
        assert edge == "alerts"
        self.items += batch
        self.at.append(asyncio.get_running_loop().time())


class TestBackpressure:
    @pytest.mark.req("FLW-02")
    def test_a_sender_waits_until_there_is_room_for_its_whole_batch(self) -> None:
        async def scenario() -> None:
            edge = Edge[int]("e", 10, WAIT)
            for batch in ([1, 2, 3, 4], [5, 6, 7, 8]):
                await edge.send(batch)
            waiting = asyncio.create_task(edge.send([9, 10, 11, 12, 13, 14]))
            await asyncio.sleep(1)
            assert (waiting.done(), edge.stats().occupancy) == (False, 8)
            await edge.take()
            await asyncio.sleep(1)
            assert not waiting.done(), "a batch in hand keeps its room"
            edge.handled()
            await waiting
            assert edge.stats().occupancy == 10

        run_virtually(scenario())

    @pytest.mark.req("FLW-02")
    def test_a_sink_that_stands_still_stops_every_stage_and_memory_does_not_grow(self) -> None:
        async def scenario() -> tuple[int, list[int]]:
            edges = [Edge[int](f"e{n}", 16, WAIT) for n in range(3)]
            produced = 0

            async def source() -> None:
                nonlocal produced
                while True:
                    await edges[0].send([produced] * 4)
                    produced += 4

            async def stage(inlet: Inlet[int], outlet: Outlet[int]) -> None:
                async for batch in inlet:
                    await outlet.send(batch)

            tasks = [asyncio.create_task(work) for work in (source(), stage(*edges[:2]), stage(*edges[1:]))]
            await asyncio.sleep(3600)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            return produced, [edge.stats().occupancy for edge in edges]

        assert run_virtually(scenario()) == (48, [16, 16, 16])

    def test_nobody_is_overtaken(self) -> None:
        async def scenario() -> list[int]:
            edge = Edge[int]("e", 6, WAIT)
            await edge.send([0, 1, 2, 3])
            large = asyncio.create_task(edge.send([10, 11, 12, 13]))
            await asyncio.sleep(1)
            small = asyncio.create_task(edge.send([20]))
            await asyncio.sleep(1)
            assert not small.done(), "there is room for it, but it came later"
            collecting = asyncio.create_task(all_of(edge))
            await asyncio.wait({large, small})
            edge.close()
            return await collecting

        assert run_virtually(scenario()) == [0, 1, 2, 3, 10, 11, 12, 13, 20]

    @pytest.mark.req("ORC-05")
    def test_a_batch_that_could_never_fit_is_refused(self) -> None:
        with pytest.raises(BatchTooLarge, match="5 items cannot be sent on edge 'e', which holds 4"):
            run_virtually(Edge[int]("e", 4, WAIT).send(range(5)))


class TestShed:
    @pytest.mark.req("FLW-03")
    def test_a_sender_never_waits_and_each_item_is_taken_or_counted(self) -> None:
        async def scenario() -> tuple[list[int], int]:
            edge = Edge[int]("e", 10, DROP)
            for start in range(0, 42, 6):
                await edge.send(range(start, start + 6))
            edge.close()
            return await all_of(edge), edge.stats().drops[0].items

        assert run_virtually(scenario()) == (list(range(10)), 32)

    @pytest.mark.req("FLW-03")
    def test_sending_has_no_point_at_which_it_could_wait(self) -> None:
        async def scenario() -> None:
            edge = await filled(Edge("e", 4, DROP))
            sending = edge.send([5])
            with pytest.raises(StopIteration):
                sending.send(None)

        run_virtually(scenario())

    @pytest.mark.req("FLW-03", "CTL-03")
    def test_drops_are_logged_with_their_number_and_not_one_by_one(self, caplog: pytest.LogCaptureFixture) -> None:
        async def scenario() -> None:
            edge = await filled(Edge("e", 4, DROP))
            for pause in (0, 9.9, 0.2):
                await asyncio.sleep(pause)
                for _ in range(1000):
                    await edge.send([1, 2])

        with caplog.at_level(logging.INFO, "holdfast.flow"):
            run_virtually(scenario())
        assert [record.getMessage() for record in caplog.records] == [
            '{"event": "edge drops", "edge": "e", "policy": "shed", "dropped": 2, "total": 2}',
            '{"event": "edge drops", "edge": "e", "policy": "shed", "dropped": 4000, "total": 4002}',
        ]


class TestTimed:
    @pytest.mark.req("FLW-04")
    def test_what_has_no_room_in_time_is_a_dead_letter_and_its_sender_goes_on(self) -> None:
        async def scenario() -> tuple[Buried, int, float]:
            buried = Buried()
            edge = await filled(Edge("alerts", 4, HURRY, dead_letters=buried))
            await edge.send([7, 8])
            return buried, edge.stats().drops[0].items, asyncio.get_running_loop().time()

        buried, dropped, ended = run_virtually(scenario())
        assert (buried.items, dropped) == ([7, 8], 2)
        assert buried.at == [ended] == [pytest.approx(0.2)]

    @pytest.mark.req("FLW-04")
    def test_what_finds_room_in_time_is_sent_and_no_dead_letter(self) -> None:
        async def scenario() -> tuple[list[int], list[int]]:
            buried = Buried()
            edge = await filled(Edge("alerts", 4, HURRY, dead_letters=buried))
            sending = asyncio.create_task(edge.send([7, 8]))
            await asyncio.sleep(0.19)
            collecting = asyncio.create_task(all_of(edge))
            await sending
            edge.close()
            return await collecting, buried.items

        assert run_virtually(scenario()) == ([0, 1, 2, 3, 7, 8], [])

    def test_it_needs_somebody_who_takes_what_it_gives_up(self) -> None:
        with pytest.raises(InvalidFlowPolicy, match="nobody takes what it gives up"):
            Edge[int]("alerts", 4, HURRY)


class TestClosing:
    def test_what_is_in_is_received_and_then_it_ends(self) -> None:
        async def scenario() -> list[int]:
            edge = await filled(Edge("e", 4, WAIT))
            edge.close()
            return await all_of(edge)

        assert run_virtually(scenario()) == [0, 1, 2, 3]

    def test_a_receiver_that_waits_is_woken(self) -> None:
        async def scenario() -> list[int]:
            edge = Edge[int]("e", 4, WAIT)
            collecting = asyncio.create_task(all_of(edge))
            await asyncio.sleep(1)
            edge.close()
            return await collecting

        assert run_virtually(scenario()) == []

    @pytest.mark.parametrize("waits", [True, False])
    def test_a_sender_is_told_and_keeps_its_batch(self, waits: bool) -> None:
        async def scenario() -> None:
            edge = await filled(Edge("e", 4, WAIT))
            sending = edge.send([5])
            task = asyncio.create_task(sending)
            await asyncio.sleep(1 if waits else 0)
            edge.close()
            with pytest.raises(EdgeClosed):
                await task
            assert await all_of(edge) == [0, 1, 2, 3]

        run_virtually(scenario())


def test_an_edge_on_which_somebody_waits_is_full_whatever_room_is_left() -> None:
    async def scenario() -> list[float]:
        edge, seen = Edge[int]("e", 10, WAIT), []
        await edge.send(range(6))
        seen.append(edge.stats().fullness)
        waiting = asyncio.create_task(edge.send(range(6)))
        await asyncio.sleep(0)
        seen.append(edge.stats().fullness)
        await edge.take()
        edge.handled()
        await waiting
        return [*seen, edge.stats().fullness]

    assert run_virtually(scenario()) == [0.6, 1.0, 0.6]


def test_the_counters_are_those_of_the_items() -> None:
    async def scenario() -> None:
        edge = Edge[int]("e", 10, WAIT)
        await edge.send([1, 2, 3])
        await edge.send([4, 5, 6, 7])
        await edge.take()
        edge.handled()
        stats = edge.stats()
        assert (stats.accepted, stats.handled, stats.occupancy, stats.high_water) == (7, 3, 4, 7)
        assert stats.fullness == 0.4

    run_virtually(scenario())


# Cancelling


class Line:
    """A source, an operator and a sink on two edges. The source continues behind what it has sent."""

    def __init__(self, sizes: Sequence[int], capacity: int, policy: Backpressure | Timed) -> None:
        numbers = iter(range(sum(sizes)))
        self.batches = [[next(numbers) for _ in range(size)] for size in sizes]
        self.first = Edge[int]("first", capacity, policy, dead_letters=self._never)
        self.second = Edge[int]("second", capacity, policy, dead_letters=self._never)
        self.sent = 0
        self.received: list[int] = []

    def _never(self, edge: str, batch: Sequence[int]) -> None:
        raise AssertionError(f"{batch} found no room on {edge}")

    async def source(self) -> None:
        while self.sent < len(self.batches):
            await self.first.send(self.batches[self.sent])
            self.sent += 1
        self.first.close()

    async def operator(self) -> None:
        async for batch in self.first:
            await asyncio.sleep(0)
            await self.second.send(batch)
        self.second.close()

    async def sink(self) -> None:
        async for batch in self.second:
            await asyncio.sleep(0)
            self.received += batch

    def parts(self) -> dict[str, Callable[[], Coroutine[None, None, None]]]:
        return {"source": self.source, "operator": self.operator, "sink": self.sink}

    async def run(self, victim: str, steps: Sequence[int]) -> int:
        others = [asyncio.create_task(run()) for name, run in self.parts().items() if name != victim]
        cancelled = await cancelled_at(steps, self.parts()[victim])
        await asyncio.gather(*others)
        return cancelled


SIZES = [3, 1, 4, 1, 2, 4, 3]


@pytest.mark.parametrize("policy", [WAIT, HURRY], ids=["backpressure", "timed"])
@pytest.mark.parametrize("victim", ["source", "operator", "sink"])
def test_cancelling_at_any_one_step_loses_and_repeats_nothing(victim: str, policy: Backpressure | Timed) -> None:
    for step in range(1000):
        line = Line(SIZES, 4, policy)
        was_cancelled = run_virtually(line.run(victim, [step]))
        assert line.received == list(range(sum(SIZES))), f"{victim} was cancelled at step {step}"
        if not was_cancelled:
            assert step > len(SIZES), "there are fewer steps than batches"
            return
    pytest.fail("it never came to its end")


@settings(max_examples=200)
@given(
    victim=st.sampled_from(["source", "operator", "sink"]),
    sizes=st.lists(st.integers(1, 5), max_size=12),
    steps=st.lists(st.integers(0, 8), max_size=30),
    capacity=st.integers(5, 9),
)
def test_cancelling_again_and_again_loses_and_repeats_nothing(
    victim: str, sizes: list[int], steps: list[int], capacity: int
) -> None:
    line = Line(sizes, capacity, WAIT)
    run_virtually(line.run(victim, steps))
    assert line.received == list(range(sum(sizes)))


def test_one_that_is_cancelled_while_it_waits_lets_the_next_one_in() -> None:
    async def scenario() -> list[int]:
        edge = await filled(Edge("e", 4, WAIT))
        first, second = (asyncio.create_task(edge.send([n])) for n in (10, 20))
        await asyncio.sleep(1)
        await edge.take()
        edge.handled()
        first.cancel()
        await asyncio.wait({first, second})
        assert first.cancelled()
        edge.close()
        return await all_of(edge)

    assert run_virtually(scenario()) == [20]


def test_a_batch_in_hand_is_given_again_to_the_next_receiver() -> None:
    async def scenario() -> list[Sequence[int]]:
        edge = Edge[int]("e", 10, WAIT)
        for batch in ([1], [2], [3]):
            await edge.send(batch)
        edge.close()
        seen: list[Sequence[int]] = []
        async for batch in edge:
            seen.append(batch)
            if batch == [2]:
                break
        return [*seen, *[batch async for batch in edge]]

    assert run_virtually(scenario()) == [[1], [2], [2], [3]]


def test_every_item_of_many_senders_arrives_in_the_order_of_its_sender() -> None:
    async def scenario() -> list[int]:
        edge = Edge[int]("e", 7, WAIT)
        sizes = cycle([1, 3, 2, 5])

        async def sender(start: int) -> None:
            at = start
            while at < start + 100:
                end = min(at + next(sizes), start + 100)
                await edge.send(range(at, end))
                at = end

        senders = [asyncio.create_task(sender(1000 * n)) for n in range(5)]
        collecting = asyncio.create_task(all_of(edge))
        await asyncio.gather(*senders)
        edge.close()
        return await collecting

    received = run_virtually(scenario())
    for start in range(0, 5000, 1000):
        assert [item for item in received if start <= item < start + 100] == list(range(start, start + 100))
    assert sorted(received) == list(chain.from_iterable(range(n, n + 100) for n in range(0, 5000, 1000)))
