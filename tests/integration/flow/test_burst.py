"""Ten times the load for five minutes, on a clock that is moved: who waits, who is shed, and what the graph says.

Everything is a tenth of what a real edge sees, so that the test takes seconds; the relations are those of a real one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

import pytest
from tests.support.virtual_time import LoopTimer, run_virtually

from holdfast.flow import (
    FROM_SOURCE,
    TO_DEADLINE,
    AllOk,
    Bottleneck,
    ByPriority,
    Credits,
    EdgePlan,
    Inlet,
    OperatorGraph,
    Outcome,
    Outlet,
    Priority,
    Stop,
    Supervision,
)
from holdfast.flow.credits import CreditEdge

NOMINAL, PEAK, PROCESSING = 500, 5_000, 1_500
"""Items a second: what comes usually, what comes in the burst, and what the correlator can do."""
BURST_FROM, BURST_SECONDS, END = 60.0, 300.0, 480.0
FLUSH_EVERY, FLUSH_SECONDS = 30.0, 0.15
TICK = 0.1


@dataclass(frozen=True, slots=True)
class Seen:
    """An observation; every tenth is of an object that was not seen before."""

    number: int
    at: float


def urgency(item: Seen) -> Priority:
    return Priority.LOW if item.number % 10 else Priority.HIGH


@dataclass
class Burst:
    """The graph, and what was seen of it."""

    sent: int = 0
    urgent_sent: int = 0
    urgent_received: int = 0
    received: int = 0
    latencies: list[float] = field(default_factory=list)
    dead: list[Seen] = field(default_factory=list)
    on_edges: list[tuple[float, int]] = field(default_factory=list)
    flushes: int = 0
    named: Bottleneck | None = None
    shed: dict[Priority | None, int] = field(default_factory=dict)

    async def source(self, outlet: Outlet[Seen], stop: Stop) -> None:
        loop, numbers = asyncio.get_running_loop(), count()
        while loop.time() < END:
            rate = PEAK if BURST_FROM <= loop.time() < BURST_FROM + BURST_SECONDS else NOMINAL
            batch = [Seen(next(numbers), loop.time()) for _ in range(int(rate * TICK))]
            self.sent += len(batch)
            self.urgent_sent += sum(urgency(item) is Priority.HIGH for item in batch)
            await outlet.send(batch)
            await asyncio.sleep(TICK)

    async def classify(self, inlet: Inlet[Seen], outlet: Outlet[Seen]) -> None:
        async for batch in inlet:
            await outlet.send(batch)

    async def correlate(self, inlet: Inlet[Seen], outlet: Outlet[Seen]) -> None:
        loop, flushed_at = asyncio.get_running_loop(), 0.0
        async for batch in inlet:
            await asyncio.sleep(len(batch) / PROCESSING)
            if loop.time() - flushed_at >= FLUSH_EVERY:
                flushed_at = loop.time()
                await asyncio.sleep(FLUSH_SECONDS)
                self.flushes += 1
            await outlet.send(batch)

    async def alert(self, inlet: Inlet[Seen]) -> None:
        now = asyncio.get_running_loop().time
        async for batch in inlet:
            urgent = [item for item in batch if urgency(item) is Priority.HIGH]
            self.received += len(batch)
            self.urgent_received += len(urgent)
            self.latencies += [now() - item.at for item in urgent]

    def bury(self, where: str, batch: Sequence[Seen]) -> None:
        self.dead += batch

    async def run(self) -> Outcome:
        graph, cared_for = OperatorGraph("burst"), Supervision(dead_letters=self.bury)
        source = graph.add_source("source", self.source)
        classify = graph.add_operator("classify", self.classify)
        correlate = graph.add_operator("correlate", self.correlate, cared_for)
        graph.connect(source, classify, FROM_SOURCE)
        edge = graph.connect(classify, correlate, EdgePlan(4096, ByPriority(urgency, "new objects first")))
        graph.connect(correlate, graph.add_sink("alert", self.alert), EdgePlan(1024, TO_DEADLINE.policy))
        built = graph.build(timer=LoopTimer())
        sampler = built.sampler()

        async def watch() -> None:
            while True:
                await asyncio.sleep(1)
                sampler.sample()
                now = asyncio.get_running_loop().time()
                self.on_edges.append((now, sum(edge.occupancy for edge in built.stats())))
                if now == pytest.approx(BURST_FROM + 30):
                    self.named = sampler.bottleneck()

        watching = asyncio.create_task(watch())
        outcome = await built.run()
        watching.cancel()
        await asyncio.wait({watching})
        self.shed = {drop.priority: drop.items for drop in built.edges[edge].stats().drops}
        return outcome


@pytest.fixture(scope="module")
def burst() -> Burst:
    burst = Burst()
    assert run_virtually(burst.run()).event == AllOk()
    return burst


@pytest.mark.req("FLW-10")
def test_nothing_of_high_priority_is_lost_though_checkpoints_are_flushed(burst: Burst) -> None:
    assert burst.flushes >= 10
    assert burst.urgent_received == burst.urgent_sent > 100_000
    assert burst.dead == []
    assert burst.shed[Priority.HIGH] == 0


@pytest.mark.req("FLW-10", "PRI-04")
def test_what_is_shed_is_of_low_priority_and_every_item_is_accounted_for(burst: Burst) -> None:
    assert burst.shed[Priority.LOW] > 0
    assert burst.sent == burst.received + burst.shed[Priority.LOW]


@pytest.mark.req("FLW-10")
def test_memory_stops_growing_within_30_seconds(burst: Burst) -> None:
    def most(start: float, end: float) -> int:
        return max(items for at, items in burst.on_edges if start <= at < end)

    early = most(BURST_FROM, BURST_FROM + 30)
    assert early < 4096
    assert most(BURST_FROM + BURST_SECONDS - 60, BURST_FROM + BURST_SECONDS) <= early * 1.1
    assert most(END - 60, END) < early / 2, "and it is given back"


@pytest.mark.req("FLW-11")
def test_the_bottleneck_is_named_within_30_seconds(burst: Burst) -> None:
    assert burst.named is not None
    assert burst.named.operator == "correlate"


@pytest.mark.req("FLW-10")
def test_high_priority_comes_through_within_5_seconds(burst: Burst) -> None:
    assert sorted(burst.latencies)[int(len(burst.latencies) * 0.99)] < 5.0


@pytest.mark.req("FLW-14")
def test_a_flush_that_withholds_credits_pauses_the_source_and_nothing_is_lost() -> None:
    received: list[int] = []
    sent_at: list[float] = []

    async def source(outlet: Outlet[int], stop: Stop) -> None:
        for number in range(1000):
            await outlet.send([number])
            sent_at.append(asyncio.get_running_loop().time())

    async def scenario() -> None:
        graph = OperatorGraph("flush")

        async def flushing(inlet: Inlet[int]) -> None:
            edge = built.edges[name]
            assert isinstance(edge, CreditEdge)
            async for batch in inlet:
                await asyncio.sleep(0.001)
                received.extend(batch)
                if len(received) == 500:
                    edge.withhold()
                    asyncio.get_running_loop().call_later(FLUSH_SECONDS, edge.release)

        plan = EdgePlan(16, Credits("a flush pauses the senders"))
        name = graph.connect(graph.add_source("source", source), graph.add_sink("sink", flushing), plan)
        built = graph.build(timer=LoopTimer())
        await built.run()

    run_virtually(scenario())
    assert received == list(range(1000))
    gaps = [later - earlier for earlier, later in pairwise(sent_at)]
    assert max(gaps) == pytest.approx(FLUSH_SECONDS, abs=0.01)
    assert sum(gap > 0.05 for gap in gaps) == 1
