"""State that is kept for an operator that somebody else runs: saved with its offset, between two changes, on time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pytest
from tests.support.backends import MemoryBackend
from tests.support.operator_flows import newest_slot
from tests.support.replicas import Switched, stepped
from tests.support.virtual_time import LoopTimer, run_virtually

from holdfast.checkpoint.contract import CheckpointStore, Commit
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.operators import FlowSettings, SnapshotMode, StateKeeper
from holdfast.checkpoint.operators.health import Status
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.model.errors import Fenced, InvalidFlow, StoreFull

R = TypeVar("R")
CADENCE = 10.0


class Numbers:
    """All that was applied, in one buffer that every change overwrites."""

    def __init__(self) -> None:
        self.applied: list[int] = []
        self._live = bytearray(1000)

    def apply(self, number: int) -> None:
        self.applied.append(number)
        self._live[:] = json.dumps(self.applied).encode().ljust(1000)

    def snapshot(self) -> Sequence[bytearray]:
        return [self._live]

    def restore(self, buffers: Sequence[memoryview]) -> None:
        self.applied = json.loads(bytes(buffers[0]))


async def at_once(work: Callable[[], R], /) -> R:
    await asyncio.sleep(0)
    return work()


class World:
    """A store that outlives its owners."""

    def __init__(self, store: CheckpointStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.paths = recovery_path_total()
        self.state = Numbers()

    async def keeper(self) -> StateKeeper:
        """A new owner, with fresh state."""
        self.state = Numbers()
        chosen = FlowSettings(cadence=CADENCE, timer=LoopTimer(), offload=at_once, paths=self.paths)
        return await StateKeeper.recover(
            "edge", self.state, store=self.store, epoch=self.store.take_over(), settings=chosen
        )

    def apply(self, keeper: StateKeeper, *numbers: int) -> None:
        for number in numbers:
            with keeper.change(number):
                self.state.apply(number)


async def saved(keeper: StateKeeper) -> None:
    """Let the write that is under way end."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.req("CKP-01")
def test_state_and_offset_come_back_together() -> None:
    async def scenario() -> None:
        world = World()
        keeper = await world.keeper()
        assert keeper.offset is None
        world.apply(keeper, 1, 2, 3)
        await keeper.close()
        assert (await world.keeper()).offset == 3
        assert world.state.applied == [1, 2, 3]

    run_virtually(scenario())


@pytest.mark.req("CKP-01")
def test_a_snapshot_is_taken_between_two_changes_and_never_within_one() -> None:
    async def scenario() -> None:
        world = World()
        keeper = await world.keeper()
        keeping = asyncio.create_task(keeper.keep())
        world.apply(keeper, 1)
        await asyncio.sleep(CADENCE - 1)
        with keeper.change(2):
            world.state.apply(2)
            await asyncio.sleep(CADENCE)
        await saved(keeper)
        assert keeper.health().snapshots_written == 1
        keeping.cancel()
        assert (await world.keeper()).offset == 2
        assert world.state.applied == [1, 2]

    run_virtually(scenario())


@pytest.mark.req("CKP-03")
def test_it_is_saved_at_its_cadence_and_not_more_often() -> None:
    async def scenario() -> list[int]:
        world, written = World(), []
        keeper = await world.keeper()
        for second in range(1, 41):
            await asyncio.sleep(1)
            world.apply(keeper, second)
            await saved(keeper)
            written.append(keeper.health().snapshots_written)
        return written

    written = run_virtually(scenario())
    assert [written[second - 1] for second in (9, 10, 19, 20, 30, 40)] == [0, 1, 1, 2, 3, 4]


@pytest.mark.req("CKP-03")
def test_what_changed_last_is_saved_although_nothing_follows() -> None:
    async def scenario() -> int:
        world = World()
        keeper = await world.keeper()
        keeping = asyncio.create_task(keeper.keep())
        world.apply(keeper, 1)
        await asyncio.sleep(100 * CADENCE)
        keeping.cancel()
        return keeper.health().snapshots_written

    assert run_virtually(scenario()) == 1


def broken_off(keeper: StateKeeper, state: Numbers, error: BaseException) -> None:
    with keeper.change(2):
        state.apply(2)
        raise error


@pytest.mark.req("CKP-01")
@pytest.mark.parametrize("error", [OSError("gone"), asyncio.CancelledError()], ids=["error", "cancelled"])
def test_a_change_that_is_broken_off_is_never_saved(error: BaseException) -> None:
    async def scenario() -> None:
        world = World()
        keeper = await world.keeper()
        world.apply(keeper, 1)
        await asyncio.sleep(CADENCE)
        keeper.save_if_due()
        await saved(keeper)
        with pytest.raises(type(error)):
            broken_off(keeper, world.state, error)
        assert keeper.health().status is Status.FAILED
        with pytest.raises(InvalidFlow, match="in the middle of a change behind offset 1"):
            world.apply(keeper, 3)
        await asyncio.sleep(CADENCE)
        keeper.save_if_due()
        await keeper.close()
        assert (await world.keeper()).offset == 1
        assert world.state.applied == [1]

    run_virtually(scenario())


@pytest.mark.req("CKP-04")
def test_it_is_restored_from_this_disk_then_from_the_remote_tier_then_fresh() -> None:
    async def life(disk: Shelf, far: Shelf, numbers: list[int]) -> tuple[list[int], dict[str, int]]:
        with stepped(MemoryStore(disk), Switched(far)) as store:
            world = World(store)
            keeper = await world.keeper()
            found = list(world.state.applied)
            world.apply(keeper, *numbers)
            await keeper.close()
            store.replicate_once()
            return found, {labels[0][1]: count for labels, count in world.paths.values().items()}

    async def scenario() -> list[tuple[list[int], dict[str, int]]]:
        disk, far = Shelf(), Shelf()
        lives = [await life(disk, far, [1]), await life(disk, far, [2])]
        return [*lives, await life(Shelf(), far, [3])]

    assert run_virtually(scenario()) == [([], {"fresh": 1}), ([1], {"local": 1}), ([1, 2], {"remote": 1})]


@pytest.mark.req("CKP-02")
def test_a_damaged_snapshot_is_passed_over_for_the_one_before_with_its_own_offset() -> None:
    async def scenario() -> None:
        backend = MemoryBackend(Shelf())
        world = World(backend.open())
        keeper = await world.keeper()
        for number in (1, 2):
            world.apply(keeper, number)
            await keeper.close()
        slot = newest_slot(world.store, FlowKeys("edge", SnapshotMode.PER_OPERATOR), "edge")
        backend.tamper(slot, world.store.versions(slot)[-1].number)
        assert (await world.keeper()).offset == 1
        assert world.state.applied == [1]

    run_virtually(scenario())


@pytest.mark.req("CKP-05", "CKP-06")
def test_pause_age_and_size_are_measured() -> None:
    async def scenario() -> dict[tuple[str, ...], float]:
        world = World()
        keeper = await world.keeper()
        assert keeper.metrics()[0].value == 0.0
        world.apply(keeper, 1)
        await asyncio.sleep(CADENCE)
        keeper.save_if_due()
        await saved(keeper)
        await asyncio.sleep(7)
        assert keeper.pauses.count == 1
        return {(figure.name, *figure.labels.values()): figure.value for figure in keeper.metrics()}

    figures = run_virtually(scenario())
    assert figures[("checkpoint_age_seconds", "edge")] == 7
    assert figures[("checkpoint_size_bytes", "edge")] == 1000
    assert ("checkpoint_pause_duration_ms", "edge", "0.99") in figures


@pytest.mark.req("CKP-06")
def test_what_is_unsaved_for_two_cadences_is_overdue() -> None:
    async def scenario() -> list[bool]:
        world = World()
        keeper = await world.keeper()
        await asyncio.sleep(10 * CADENCE)
        seen = [keeper.is_overdue]
        with keeper.change(1):
            world.state.apply(1)
            seen.append(keeper.is_overdue)
        await saved(keeper)
        seen.append(keeper.is_overdue)
        return seen

    assert run_virtually(scenario()) == [False, True, False]


def test_a_write_that_fails_is_tried_again_and_shows_meanwhile() -> None:
    class Full(MemoryStore):
        is_full = True

        def commit(self, commit: Commit) -> Mapping[str, int]:
            if self.is_full:
                raise StoreFull("No room.", remedy="Make room.")
            return super().commit(commit)

    async def scenario() -> list[Status]:
        store = Full()
        world = World(store)
        store.is_full = False
        keeper = await world.keeper()
        store.is_full, seen = True, []
        for is_full in (True, False):
            store.is_full = is_full
            world.apply(keeper, 1)
            await asyncio.sleep(CADENCE)
            keeper.save_if_due()
            await saved(keeper)
            seen.append(keeper.health().status)
        return seen

    assert run_virtually(scenario()) == [Status.DEGRADED, Status.HEALTHY]


def test_an_owner_that_was_replaced_is_told_at_its_next_change() -> None:
    async def scenario() -> None:
        world = World()
        keeper = await world.keeper()
        old = world.state
        world.store.take_over()
        await asyncio.sleep(CADENCE)
        with keeper.change(1):
            old.apply(1)
        await saved(keeper)
        with pytest.raises(Fenced), keeper.change(2):
            old.apply(2)

    run_virtually(scenario())
