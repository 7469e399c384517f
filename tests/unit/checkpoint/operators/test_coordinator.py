"""Aligned snapshots: barriers that come late or not at all, and the record that completes one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.support.operator_flows import Collect, HandTimer, RunningSum, settle
from tests.unit.checkpoint.operators.test_operator import Gate, TroubledStore

from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import Flow, FlowSettings, Graph, Link, SnapshotMode
from holdfast.checkpoint.operators.archive import IDS_PER_EPOCH
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.items import Barrier
from holdfast.model.errors import BarrierTimeout, CommitStateUnknown, Fenced, StoreFull, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from holdfast.checkpoint.operators.history import Completion

GRAPH = Graph((Link("left", "first", "merge"), Link("right", "second", "merge"), Link("out", "merge", "sink")))
KEYS = FlowKeys("test", SnapshotMode.ALIGNED)
FIRST_ID = IDS_PER_EPOCH + 1


@dataclass
class Stage:
    """A flow in aligned mode whose sources are pushed by hand."""

    flow: Flow
    timer: HandTimer
    gate: Gate
    store: MemoryStore
    merge: RunningSum
    sink: Collect
    running: asyncio.Task[None] = field(init=False)

    def __post_init__(self) -> None:
        self.running = asyncio.create_task(self.flow.run({}))

    @classmethod
    async def made(cls, store: MemoryStore) -> Stage:
        timer, gate, merge, sink = HandTimer(), Gate(), RunningSum(), Collect()
        gate.open.set()
        settings = FlowSettings(
            mode=SnapshotMode.ALIGNED, cadence=60.0, barrier_timeout=10.0, credits=2, timer=timer, offload=gate
        )
        flow = await Flow.recover(
            "test",
            GRAPH,
            operators={"merge": merge, "sink": sink},
            store=store,
            epoch=store.take_over(),
            settings=settings,
        )
        return cls(flow, timer, gate, store, merge, sink)

    def record(self) -> Completion | None:
        history = self.store.get(KEYS.history("merge"))
        return history.snapshots[0] if history else None

    def snapshot(self) -> asyncio.Task[Completion | None]:
        return asyncio.create_task(self.flow.coordinator.snapshot())

    def stop_barriers(self, source: str) -> None:
        """A source that is stuck: it lets no barrier through."""

        async def stuck(_: Barrier) -> None:
            await asyncio.get_running_loop().create_future()

        self.flow.feeds[source].barrier = stuck  # type: ignore[method-assign, assignment]


def scenario(play: Callable[[Stage], Coroutine[None, None, None]], store: MemoryStore | None = None) -> None:
    async def run() -> None:
        stage = await Stage.made(store or MemoryStore())
        await settle()
        await play(stage)
        stage.running.cancel()
        await asyncio.wait({stage.running})

    asyncio.run(run())


@pytest.mark.req("K6")
def test_a_time_out_names_the_operator_and_the_input_whose_barrier_did_not_arrive() -> None:
    async def play(stage: Stage) -> None:
        stage.stop_barriers("second")
        taking = stage.snapshot()
        await settle()
        stage.timer.advance(9.9)
        await settle()
        assert not taking.done()
        stage.timer.advance(0.1)
        with pytest.raises(BarrierTimeout, match=r"input 'right' of operator 'merge'") as caught:
            await taking
        assert caught.value.context["missing"] == [("merge", "right"), ("sink", "out")]
        assert stage.flow.coordinator.error is caught.value
        assert stage.record() is None

    scenario(play)


@pytest.mark.req("K6")
def test_the_input_that_was_held_goes_on_after_a_time_out_and_the_next_snapshot_works() -> None:
    async def play(stage: Stage) -> None:
        real_barrier = stage.flow.feeds["second"].barrier
        stage.stop_barriers("second")
        taking = stage.snapshot()
        await settle()
        pushing = asyncio.create_task(push(stage, "first", [1, 2, 3, 4, 5]))
        await settle()
        assert stage.sink.state["log"] == []
        stage.timer.advance(10.0)
        await asyncio.wait({taking, pushing})
        await settle()
        assert isinstance(taking.exception(), BarrierTimeout)
        assert stage.sink.state["log"] == [1, 3, 6, 10, 15]
        stage.flow.feeds["second"].barrier = real_barrier  # type: ignore[method-assign]
        completion = await stage.snapshot()
        assert completion == stage.record()
        assert stage.flow.coordinator.error is None

    scenario(play)


def test_a_held_input_takes_no_more_than_its_credits() -> None:
    async def play(stage: Stage) -> None:
        stage.stop_barriers("second")
        taking = stage.snapshot()
        await settle()
        pushing = asyncio.create_task(push(stage, "first", list(range(100))))
        await push(stage, "second", [7])
        await settle(100)
        assert not pushing.done()
        assert stage.sink.state["log"] == [7]
        pushing.cancel()
        taking.cancel()
        await asyncio.wait({pushing, taking})

    scenario(play)


@pytest.mark.req("K6")
def test_a_barrier_that_comes_after_its_snapshot_was_given_up_holds_nothing() -> None:
    async def play(stage: Stage) -> None:
        real_barrier = stage.flow.feeds["second"].barrier
        stage.stop_barriers("second")
        taking = stage.snapshot()
        await settle()
        stage.timer.advance(10.0)
        await asyncio.wait({taking})
        await real_barrier(Barrier(FIRST_ID))
        await push(stage, "second", [1, 2, 3])
        await settle()
        assert stage.sink.state["log"] == [1, 3, 6]

    scenario(play)


@pytest.mark.req("K1")
def test_a_snapshot_is_not_complete_before_every_part_is_durable() -> None:
    async def play(stage: Stage) -> None:
        stage.gate.open.clear()
        taking = stage.snapshot()
        await settle()
        assert (stage.gate.waiting, stage.record(), taking.done()) == (2, None, False)
        stage.gate.open.set()
        completion = await taking
        assert completion == stage.record()
        assert completion is not None
        assert set(completion.parts) == {"merge", "sink"}
        for name, part in completion.parts.items():
            assert part.is_in(stage.store.versions(KEYS.slot(name, part.slot))[-1])

    scenario(play)


def test_parts_that_are_not_written_in_time_are_named_and_the_next_due_snapshot_is_skipped() -> None:
    async def play(stage: Stage) -> None:
        stage.gate.open.clear()
        taking = stage.snapshot()
        await settle()
        stage.timer.advance(10.0)
        with pytest.raises(StoreUnavailable, match=r"\['merge', 'sink'\] were still being written"):
            await taking
        stage.timer.advance(50.0)
        await settle()
        assert stage.flow.coordinator.skipped == 1
        stage.gate.open.set()
        await settle()
        assert stage.record() is None
        stage.timer.advance(60.0)
        await settle(60)
        assert (stage.record() is not None, stage.flow.coordinator.completed) == (True, 1)

    scenario(play)


def test_a_part_that_cannot_be_written_gives_the_snapshot_up_and_the_flow_goes_on() -> None:
    async def play(stage: Stage) -> None:
        stage.timer.advance(60.0)
        await settle(60)
        assert isinstance(stage.flow.coordinator.error, StoreFull)
        stage.timer.advance(60.0)
        await settle(60)
        record = stage.record()
        assert record is not None
        assert record.snapshot_id == FIRST_ID + 1
        assert not stage.running.done()

    scenario(play, TroubledStore(StoreFull("There is no space.", remedy="Make some.")))


def test_a_completion_of_unknown_outcome_is_read_back() -> None:
    class BreaksAtTheRecord(TroubledStore):
        def commit(self, commit):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            if commit.requirements:
                self.errors = [CommitStateUnknown("The connection broke.", remedy="Read back.")]
            return super().commit(commit)

    async def play(stage: Stage) -> None:
        completion = await stage.snapshot()
        assert completion == stage.record()

    scenario(play, BreaksAtTheRecord())


def test_a_flow_that_was_fenced_ends() -> None:
    async def play(stage: Stage) -> None:
        stage.store.take_over()
        stage.timer.advance(60.0)
        await settle(60)
        with pytest.RaisesGroup(Fenced, Fenced, Fenced, flatten_subgroups=True):
            await stage.running

    scenario(play)


async def push(stage: Stage, source: str, values: list[int]) -> None:
    for value in values:
        await stage.flow.feeds[source].push(value, value)
