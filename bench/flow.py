"""How many items a second go through edges on one core, in batches and one by one, and what a graph adds to that.

One event loop, no work in between: what is measured is what the library costs. The peer is an `asyncio.Queue` of the
same capacity that carries one item at a time, which is what one would write by hand.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from timeit import timeit
from typing import TYPE_CHECKING

from holdfast.flow import (
    Backpressure,
    ByPriority,
    Credits,
    EdgePlan,
    Inlet,
    OperatorGraph,
    Outlet,
    Priority,
    Stop,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.flow import FlowPolicy, Sends

ITEMS, BATCH, CAPACITY = 2_000_000, 256, 4096
TARGET = 100_000


def sign(item: int) -> Priority:
    return Priority.HIGH if item % 2 else Priority.LOW


async def through_a_graph(policy: FlowPolicy, items: int, batch: int) -> float:
    """Items a second from a source through an operator to a sink; the edge in front of the sink has the policy."""

    async def source(outlet: Outlet[int], stop: Stop) -> None:
        for start in range(0, items, batch):
            await outlet.send(range(start, start + batch))

    async def operator(inlet: Inlet[int], outlet: Outlet[int]) -> None:
        async for numbers in inlet:
            await outlet.send(numbers)

    async def sink(inlet: Inlet[int]) -> None:
        async for _ in inlet:
            pass

    graph = OperatorGraph("bench")
    start, middle = graph.add_source("source", source), graph.add_operator("operator", operator)
    graph.connect(start, middle, EdgePlan(CAPACITY, Backpressure("it is measured")))
    graph.connect(middle, graph.add_sink("sink", sink), EdgePlan(CAPACITY, policy))
    built = graph.build()
    started = time.perf_counter()
    await built.run()
    return items / (time.perf_counter() - started)


async def through_queues(items: int) -> float:
    """Items a second through two queues of asyncio, one at a time."""
    first: asyncio.Queue[int] = asyncio.Queue(CAPACITY)
    second: asyncio.Queue[int] = asyncio.Queue(CAPACITY)

    async def source() -> None:
        for number in range(items):
            await first.put(number)

    async def operator() -> None:
        for _ in range(items):
            await second.put(await first.get())

    async def sink() -> None:
        for _ in range(items):
            await second.get()

    started = time.perf_counter()
    await asyncio.gather(source(), operator(), sink())
    return items / (time.perf_counter() - started)


def run(items: int = ITEMS) -> Iterator[dict[str, object]]:
    """The figures, one after the other."""
    yield from building()
    logging.getLogger("holdfast.flow").setLevel(logging.ERROR)
    peer = asyncio.run(through_queues(items // 10))
    measured: dict[str, tuple[FlowPolicy, int, int]] = {
        "batches_of_256": (Backpressure("it is measured"), BATCH, 1),
        "one_by_one": (Backpressure("it is measured"), 1, 10),
        "credits_batches_of_256": (Credits("it is measured"), BATCH, 1),
        "priority_batches_of_256": (ByPriority(sign, "it is measured"), BATCH, 1),
    }
    for figure, (policy, batch, part) in measured.items():
        rate = asyncio.run(through_a_graph(policy, items // part, batch))
        yield {
            "bench": "flow",
            "figure": figure,
            "value": round(rate),
            "unit": "items/s",
            "peer": f"asyncio.Queue, one by one: {round(peer)}",
            "ratio": round(rate / peer, 2),
        }


def building() -> Iterator[dict[str, object]]:
    """Milliseconds to declare and build a line of ten operators, the first time and on average afterwards."""

    async def source(outlet: Outlet[int], stop: Stop) -> None: ...
    async def operator(inlet: Inlet[int], outlet: Outlet[int]) -> None: ...
    async def sink(inlet: Inlet[int]) -> None: ...

    def build() -> None:
        graph = OperatorGraph("bench")
        last: Sends[int] = graph.add_source("source", source)
        for number in range(8):
            following = graph.add_operator(f"operator {number}", operator)
            graph.connect(last, following, EdgePlan(CAPACITY, Backpressure("it is measured")))
            last = following
        graph.connect(last, graph.add_sink("sink", sink), EdgePlan(CAPACITY, Backpressure("it is measured")))
        graph.build()

    cold = timeit(build, number=1) * 1000
    for figure, value in (("build_cold", cold), ("build_warm", timeit(build, number=100) * 10)):
        yield {"bench": "flow", "figure": figure, "value": round(value, 3), "unit": "ms"}


def main() -> None:
    print(f"{ITEMS} items through a source, an operator and a sink (target: {TARGET} items/s in batches)")
    for figure in run():
        print(json.dumps(figure))


if __name__ == "__main__":
    main()
