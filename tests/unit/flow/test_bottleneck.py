"""The bottleneck is behind the full edge furthest downstream, and is found while a stage is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.support.virtual_time import LoopTimer, run_virtually

from holdfast.flow import (
    Backpressure,
    Bottleneck,
    Edge,
    EdgePlan,
    EwmaRate,
    Inlet,
    OccupancySample,
    OperatorGraph,
    Outlet,
    Sampler,
    Shed,
    Stop,
    find_bottleneck,
    gradient,
)

CONSUMERS = {"a": "normalize", "b": "correlate", "c": "emit"}


def samples(*fullness: tuple[float, float, float]) -> list[OccupancySample]:
    return [OccupancySample(at, dict(zip("abc", values, strict=True))) for at, values in enumerate(fullness)]


@pytest.mark.req("FLW-11")
@pytest.mark.parametrize(
    ("seen", "edge"),
    [
        (samples(*[(1.0, 1.0, 0.1)] * 9), "b"),
        (samples(*[(1.0, 0.1, 1.0)] * 9), "c"),
        (samples(*[(1.0, 0.94, 0.1)] * 9), "a"),
        (samples(*[(0.94, 0.94, 0.94)] * 9), None),
        (samples(*[(0.95, 0.1, 0.1)] * 9), "a"),
        (samples(*[(1.0, 0.0, 0.0)] * 6, *[(0.0, 0.0, 0.0)] * 3), None),
        (samples(*[(0.0, 0.0, 0.0)] * 6, *[(0.0, 1.0, 0.0)] * 3), "b"),
        ([], None),
    ],
    ids=[
        "upstream is full too",
        "a hole between",
        "nearly full",
        "none",
        "just full",
        "it is over",
        "lately",
        "no sample",
    ],
)
def test_it_is_behind_the_full_edge_furthest_downstream(seen: Sequence[OccupancySample], edge: str | None) -> None:
    found = find_bottleneck(seen, CONSUMERS)
    assert (found.edge, found.operator) == (edge, CONSUMERS[edge]) if edge and found else found is edge


def test_the_gradient_is_the_mean_of_the_last_third_of_the_time() -> None:
    seen = [OccupancySample(at, {"a": full}) for at, full in [(0, 0.0), (1, 0.0), (2, 0.0), (60, 0.5), (90, 1.0)]]
    assert gradient(seen, ["a"]) == (("a", 0.75),)


@pytest.mark.req("FLW-11")
def test_a_stage_that_is_made_slow_is_named_within_30_seconds() -> None:
    plan = EdgePlan(50, Backpressure("a test"))
    slow_from = 60.0

    async def source(outlet: Outlet[int], stop: Stop) -> None:
        while not stop.is_set:
            await outlet.send(range(10))
            await asyncio.sleep(0.1)

    async def stage(inlet: Inlet[int], outlet: Outlet[int]) -> None:
        async for batch in inlet:
            await outlet.send(batch)

    async def slow(inlet: Inlet[int], outlet: Outlet[int]) -> None:
        async for batch in inlet:
            await asyncio.sleep(0.5 if asyncio.get_running_loop().time() > slow_from else 0.01)
            await outlet.send(batch)

    async def sink(inlet: Inlet[int]) -> None:
        async for _ in inlet:
            await asyncio.sleep(0.05)

    async def scenario() -> tuple[Bottleneck | None, Bottleneck | None, float]:
        graph = OperatorGraph("g")
        start, first = graph.add_source("source", source), graph.add_operator("first", stage)
        second, third = graph.add_operator("slow", slow), graph.add_operator("third", stage)
        for upstream, downstream in ((third, graph.add_sink("sink", sink)), (first, second), (second, third)):
            graph.connect(upstream, downstream, plan)
        graph.connect(start, first, plan)
        built = graph.build(timer=LoopTimer())
        sampler = built.sampler()
        tasks = [asyncio.create_task(built.run()), asyncio.create_task(sampler.run())]
        await asyncio.sleep(slow_from)
        before, rate = sampler.bottleneck(), sampler.metrics()[0].value
        await asyncio.sleep(30)
        after = sampler.bottleneck()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return before, after, rate

    before, after, rate = run_virtually(scenario())
    assert before is None
    assert after is not None
    assert (after.edge, after.operator) == ("first -> slow", "slow")
    assert rate == pytest.approx(100 * (1 - 2.718281828 ** (-60 / 30)), rel=0.02)


@pytest.mark.req("FLW-11")
def test_an_edge_that_dropped_since_the_last_look_was_full() -> None:
    async def scenario() -> list[float]:
        edge = Edge[int]("e", 10, Shed("a test"))
        sampler = Sampler(lambda: [edge.stats()], consumers={"e": "sink"}, sources={}, timer=LoopTimer())
        for items in (5, 17, 3):
            await edge.send(range(items))
            await edge.take()
            edge.handled()
            sampler.sample()
        return [sample.fullness["e"] for sample in sampler.samples]

    assert run_virtually(scenario()) == [0.0, 1.0, 0.0]


@pytest.mark.req("CTL-02")
def test_a_rate_looks_back_over_30_seconds() -> None:
    rate = EwmaRate(0.0, 1000)
    for second in range(1, 31):
        rate.update(float(second), 1000 + 50 * second)
    assert rate.rate == pytest.approx(50 * (1 - 0.36788), rel=1e-4)
    for second in range(31, 301):
        rate.update(float(second), 1000 + 50 * second)
    assert rate.rate == pytest.approx(50, rel=1e-3)


def test_a_rate_that_is_asked_twice_at_one_moment_stays() -> None:
    rate = EwmaRate(0.0, 0)
    rate.update(1.0, 30)
    before = rate.rate
    rate.update(1.0, 40)
    assert rate.rate == before
