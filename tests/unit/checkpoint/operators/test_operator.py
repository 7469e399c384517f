"""One operator and its snapshots: the pause, the write behind it, and what happens when that is slow or fails."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.support.operator_flows import GRAPH, Collect, HandTimer, settle, stored_snapshots

from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import Item, SnapshotMode, Status
from holdfast.checkpoint.operators.archive import Archive
from holdfast.checkpoint.operators.credits import Edge
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.items import End
from holdfast.checkpoint.operators.operator import CheckpointedOperator
from holdfast.checkpoint.operators.retention import PointsKept
from holdfast.checkpoint.operators.writer import SnapshotWriter
from holdfast.model.errors import CommitStateUnknown, Fenced, StoreFull

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from holdfast.checkpoint.contract import Commit
    from holdfast.checkpoint.operators.snapshot import OperatorSnapshot
    from holdfast.checkpoint.operators.writer import R

KEYS = FlowKeys("test", SnapshotMode.PER_OPERATOR)


class Gate:
    """Holds blocking work until it is let through."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waiting = 0

    async def __call__(self, work: Callable[[], R], /) -> R:
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        return work()


class TroubledStore(MemoryStore):
    """A store whose next commits fail with the given errors, the last kind only after it has stored."""

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = list(errors)

    def commit(self, commit: Commit) -> Mapping[str, int]:
        error = self.errors.pop(0) if self.errors else None
        if error is None or isinstance(error, CommitStateUnknown):
            versions = super().commit(commit)
        if error is not None:
            raise error
        return versions


class Slow(Collect):
    """Takes some time to give its buffers."""

    def __init__(self, timer: HandTimer, seconds: float) -> None:
        super().__init__()
        self._timer, self._seconds = timer, seconds

    def snapshot(self) -> Sequence[memoryview]:
        self._timer.advance(self._seconds)
        return super().snapshot()


@dataclass
class Bench:
    """An operator with one input, driven by hand."""

    store: MemoryStore = field(default_factory=MemoryStore)
    timer: HandTimer = field(default_factory=HandTimer)
    gate: Gate = field(default_factory=Gate)
    edge: Edge[int] = field(default_factory=lambda: Edge[int]("out", credits=4))
    work: Collect = field(default_factory=Collect)

    def __post_init__(self) -> None:
        archive = Archive(self.store, KEYS, ["sink"], epoch=self.store.take_over())
        books = PointsKept(GRAPH, {})
        self.writer = SnapshotWriter(archive, timer=self.timer, listener=books, offload=self.gate)
        self.operator = CheckpointedOperator(
            "sink",
            self.work,
            mode=SnapshotMode.PER_OPERATOR,
            inputs=[self.edge],
            outputs=[],
            writer=self.writer,
            timer=self.timer,
        )
        self.running = asyncio.create_task(self.operator.run())

    async def give(self, *seqs: int) -> None:
        for seq in seqs:
            await self.edge.send(Item("out", seq, seq * 100, {"lsn": seq}))
        await settle()

    async def snapshot(self) -> None:
        self.operator.request_snapshot()
        await settle()

    def stored(self) -> OperatorSnapshot | None:
        return next(iter(stored_snapshots(self.store, KEYS, "sink")), None)

    async def end(self) -> None:
        self.gate.open.set()
        await self.edge.send(End())
        await self.running


def scenario(play: Callable[[Bench], Coroutine[None, None, None]], store: MemoryStore | None = None) -> None:
    async def run() -> None:
        bench = Bench(store=store or MemoryStore())
        bench.gate.open.set()
        await play(bench)
        bench.running.cancel()
        await asyncio.wait({bench.running})

    asyncio.run(run())


@pytest.mark.req("K1")
def test_items_applied_while_the_snapshot_is_being_written_are_in_neither_its_state_nor_its_offset() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1, 2)
        bench.gate.open.clear()
        await bench.snapshot()
        await bench.give(3, 4)
        bench.gate.open.set()
        await settle()
        stored = bench.stored()
        assert stored is not None
        assert stored.cut.offsets == {"out": {"lsn": 2}}
        again = Collect()
        again.restore([memoryview(buffer) for buffer in stored.buffers])
        assert again.state["log"] == [100, 200]

    scenario(play)


@pytest.mark.req("K4")
def test_the_pause_is_measured_from_withholding_the_credits_to_giving_them_back() -> None:
    async def run() -> None:
        timer = HandTimer()
        bench = Bench(timer=timer, work=Slow(timer, 0.125))
        await bench.give(1)
        await bench.snapshot()
        assert (bench.operator.pauses.count, bench.operator.pauses.total) == (1, 0.125)
        timer.advance(2.0)
        await bench.end()
        assert bench.writer.durations.longest == 2.0

    asyncio.run(run())


def test_credits_are_withheld_from_the_request_until_the_copy_is_taken() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1)
        bench.operator.request_snapshot()
        await bench.edge.send(Item("out", 2, 0, 2))
        assert bench.edge.credits == 3
        await settle()
        assert bench.edge.credits == 4

    scenario(play)


def test_a_snapshot_due_while_one_is_being_written_is_skipped_and_counted() -> None:
    async def play(bench: Bench) -> None:
        bench.gate.open.clear()
        await bench.give(1)
        await bench.snapshot()
        await bench.give(2)
        for _ in range(3):
            await bench.snapshot()
        assert (bench.gate.waiting, bench.operator.health().snapshots_skipped) == (1, 3)
        assert bench.operator.pauses.count == 1
        bench.gate.open.set()
        await settle()
        await bench.snapshot()
        assert bench.operator.health().snapshots_written == 2

    scenario(play)


def test_no_snapshot_is_taken_when_nothing_happened_since_the_last_one() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1)
        await bench.snapshot()
        await bench.snapshot()
        assert bench.operator.health().snapshots_written == 1

    scenario(play)


def test_a_failed_write_degrades_keeps_the_state_and_is_tried_again_at_the_next_cadence() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1)
        await bench.snapshot()
        health = bench.operator.health()
        assert (health.status, health.snapshots_failed, bench.stored()) == (Status.DEGRADED, 1, None)
        assert "no space" in (health.error or "")
        await bench.snapshot()
        health = bench.operator.health()
        assert (health.status, health.error, health.snapshots_written) == (Status.HEALTHY, None, 1)
        assert bench.work.state["log"] == [100]

    scenario(play, TroubledStore(StoreFull("There is no space.", remedy="Make some.")))


def test_a_write_of_unknown_outcome_degrades_and_the_next_one_settles_it() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1)
        await bench.snapshot()
        assert bench.operator.health().status is Status.DEGRADED
        await bench.give(2)
        await bench.snapshot()
        stored = bench.stored()
        assert stored is not None
        assert (bench.operator.health().status, stored.cut.inputs["out"].applied) == (Status.HEALTHY, 2)

    scenario(play, TroubledStore(CommitStateUnknown("The connection broke.", remedy="Read back.")))


def test_an_operator_that_was_fenced_stops() -> None:
    async def play(bench: Bench) -> None:
        await bench.give(1)
        bench.store.take_over()
        await bench.snapshot()
        with pytest.raises(Fenced):
            await bench.running
        assert bench.operator.health().status is Status.FAILED

    scenario(play)


@pytest.mark.req("K1")
def test_nothing_is_saved_after_the_operator_has_failed_in_the_middle_of_an_item() -> None:
    class HalfApplied(Collect):
        def take(self, item: Item[int]) -> list[int]:
            super().take(item)
            message = "broken"
            raise RuntimeError(message)

    async def run() -> None:
        bench = Bench(work=HalfApplied())
        bench.gate.open.set()
        await bench.give(1)
        bench.operator.request_snapshot()
        with pytest.raises(RuntimeError, match="broken"):
            await bench.running
        await settle()
        assert (bench.operator.health().status, bench.stored()) == (Status.FAILED, None)

    asyncio.run(run())


@pytest.mark.req("K8")
def test_repeated_items_are_dropped_also_after_a_restart() -> None:
    async def run() -> None:
        first = Bench()
        await first.give(1, 2, 1)
        await first.end()
        stored = first.stored()
        assert stored is not None
        second = Bench()
        second.operator.restore(stored)
        await second.give(1, 2, 3)
        assert second.work.state["log"] == [100, 200, 300]
        assert (first.operator.health().duplicates, second.operator.health().duplicates) == (1, 2)
        await second.end()

    asyncio.run(run())


def test_the_age_and_size_of_the_newest_checkpoint_are_told() -> None:
    async def play(bench: Bench) -> None:
        assert bench.operator.health().checkpoint_age is None
        await bench.give(1)
        await bench.snapshot()
        bench.timer.advance(7.5)
        stored = bench.stored()
        assert stored is not None
        health = bench.operator.health()
        assert (health.checkpoint_age, health.checkpoint_size) == (7.5, stored.size)

    scenario(play)
