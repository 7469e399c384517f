"""Small flows of operators with state, a timer moved by hand, and a crash after any step of the event loop."""

from __future__ import annotations

import asyncio
import heapq
import json
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.checkpoint.operators import Flow, FlowSettings, Graph, Link, SnapshotMode
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.history import FlowKeys, History

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators import Item, Offset, Operator, Recovery, ReplayFrom
    from holdfast.checkpoint.operators.snapshot import OperatorSnapshot

R = TypeVar("R")


class HandTimer:
    """Time passes when a test says so."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        await woken

    def advance(self, seconds: float) -> None:
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            _, _, woken = heapq.heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)


class Mortal:
    """Does blocking work some steps later, so that items are applied meanwhile; does none after the crash."""

    def __init__(self, steps: int = 3, chance: Random | None = None) -> None:
        self._steps = steps
        self._chance = chance or Random(0)
        self.dead = False

    async def __call__(self, work: Callable[[], R], /) -> R:
        await settle(self._chance.randint(0, self._steps))
        if self.dead:
            raise asyncio.CancelledError
        result = work()
        await asyncio.sleep(0)
        return result


async def settle(steps: int = 20) -> None:
    """Let every task go on until it waits for something."""
    for _ in range(steps):
        await asyncio.sleep(0)


class ListSource:
    """A list that can be read again from any index, at a pace that is another one every time."""

    def __init__(self, values: Sequence[object], pace: Random | None = None) -> None:
        self._values = values
        self._pace = pace

    async def read(self, after: Offset | None) -> AsyncGenerator[tuple[object, Offset], None]:
        start = after or 0
        assert isinstance(start, int)
        for offset in range(start, len(self._values)):
            if self._pace is not None:
                await settle(self._pace.randrange(4))
            yield self._values[offset], offset + 1


class JsonState:
    """State that is one JSON value in two buffers, which every item changes in place."""

    SIZE = 1 << 15

    def __init__(self) -> None:
        self.state: dict[str, list[Any]] = {"seen": [], "log": []}
        self._live = bytearray(self.SIZE)
        self._write_down()

    def apply(self, item: Item[int]) -> list[int]:
        self.state["seen"].append([item.input, item.seq])
        outputs = self.take(item)
        self._write_down()
        return outputs

    def _write_down(self) -> None:
        self._live[:] = json.dumps(self.state).encode().ljust(self.SIZE)

    def take(self, item: Item[int]) -> list[int]:
        raise NotImplementedError

    def snapshot(self) -> Sequence[memoryview]:
        return [memoryview(self._live)[:5], memoryview(self._live)[5:]]

    def restore(self, buffers: Sequence[memoryview]) -> None:
        self._live[:] = b"".join(buffers)
        self.state = json.loads(self._live)


class Scale(JsonState):
    """Emits each value ten times as large, and negative: two outputs of one item."""

    def take(self, item: Item[int]) -> list[int]:
        return [item.value * 10, -item.value]


class Same(JsonState):
    """Emits what it is given: a longer way."""

    def take(self, item: Item[int]) -> list[int]:
        return [item.value]


class RunningSum(JsonState):
    """Emits the sum of all values so far: its outputs depend on the order in which the inputs are taken."""

    def take(self, item: Item[int]) -> list[int]:
        self.state["log"].append(item.value)
        return [sum(self.state["log"])]


class Matches(JsonState):
    """Emits every value that has come on both inputs: which values does not depend on the order, when does."""

    def take(self, item: Item[int]) -> list[int]:
        others = [value for value, name in self.state["log"] if value == item.value and name != item.input]
        self.state["log"].append([item.value, item.input])
        return others


class Collect(JsonState):
    """Keeps what it is given: the result of a flow."""

    def take(self, item: Item[int]) -> list[int]:
        self.state["log"].append(item.value)
        return []


GRAPH = Graph(
    (
        Link("raw", "first", "scale"),
        Link("left", "scale", "merge"),
        Link("right", "second", "merge"),
        Link("out", "merge", "sink"),
    )
)


LOPSIDED = Graph(
    (
        Link("raw", "first", "scale"),
        Link("left", "scale", "merge"),
        Link("far", "second", "way"),
        Link("near", "way", "way2"),
        Link("right", "way2", "merge"),
        Link("out", "merge", "sink"),
    )
)
"""The barrier from the second source has further to go, so the items behind the other one come first."""


def stored_history(store: CheckpointStore, keys: FlowKeys, operator: str) -> History:
    """The complete snapshots of an operator, as the store names them."""
    return store.get(keys.history(operator)) or History()


def stored_snapshots(store: CheckpointStore, keys: FlowKeys, operator: str) -> list[OperatorSnapshot]:
    """The complete snapshots of an operator, newest first."""
    parts = [snapshot.parts[operator] for snapshot in stored_history(store, keys, operator).snapshots]
    stored = [store.get_raw(keys.slot(operator, part.slot)) for part in parts]
    return [SnapshotCodec().decode(found.payload) for found in stored if found]


def newest_slot(store: CheckpointStore, keys: FlowKeys, operator: str) -> str:
    """The key that holds the newest complete snapshot of an operator."""
    return keys.slot(operator, stored_history(store, keys, operator).snapshots[0].parts[operator].slot)


class Crashed(Exception):
    """The flow was ended in the middle."""


class World:
    """A store and two sources that outlive the crashes of the flow between them."""

    def __init__(
        self,
        store: CheckpointStore,
        first: Sequence[int],
        second: Sequence[int],
        *,
        merge: Callable[[], Operator[int, int]] = RunningSum,
        mode: SnapshotMode = SnapshotMode.PER_OPERATOR,
        cadences: Mapping[str, float] | None = None,
        cadence: float = 20.0,
        write_steps: int = 3,
        pace: Random | None = None,
        graph: Graph = GRAPH,
        on_step: Callable[[int], object] = lambda step: None,
    ) -> None:
        self._graph = graph
        self._on_step = on_step
        self.store = store
        self.recoveries: list[Recovery] = []
        self.safe: list[Mapping[str, ReplayFrom]] = []
        self._sources = {"first": ListSource(first, pace), "second": ListSource(second, pace)}
        self._merge = merge
        self._mode = mode
        self._cadence, self._cadences = cadence, cadences or {}
        self._write_steps, self._pace = write_steps, pace

    def run(self, steps: int | None = None) -> list[int]:
        """Run to the end and give what the sink has, or `Crashed` after so many steps of the event loop."""
        return asyncio.run(self._run(steps))

    async def _run(self, steps: int | None) -> list[int]:
        timer, offload = HandTimer(), Mortal(self._write_steps, self._pace)
        settings = FlowSettings(
            mode=self._mode,
            cadence=self._cadence,
            cadences=self._cadences,
            barrier_timeout=500.0,
            credits=2,
            timer=timer,
            offload=offload,
        )
        sink = Collect()
        special: dict[str, Operator[int, object]] = {"scale": Scale(), "merge": self._merge(), "sink": sink}
        operators = {name: special.get(name) or Same() for name in self._graph.operators}
        flow = await Flow.recover(
            "test", self._graph, operators=operators, store=self.store, epoch=self.store.take_over(), settings=settings
        )
        self.recoveries.append(flow.recovery)
        self.safe.append(await flow.safe_replays())
        running, watching = asyncio.create_task(flow.run(self._sources)), asyncio.create_task(self._watch(flow))
        for step in count() if steps is None else range(steps):
            await asyncio.sleep(0)
            timer.advance(1)
            self._on_step(step)
            if running.done():
                await running
                watching.cancel()
                self.safe.append(await flow.safe_replays())
                return sink.state["log"]
        offload.dead = True
        running.cancel()
        watching.cancel()
        await asyncio.wait({running, watching})
        raise Crashed

    async def _watch(self, flow: Flow) -> None:
        """Ask again and again what the sources may forget."""
        while True:
            self.safe.append(await flow.safe_replays())
            await settle(5)
