"""Decisions are executed in order: one write at a time, the newest wins, and nobody is told before it is durable."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from tests.support.deliver_stores import TestingStore
from tests.support.deliver_world import World, all_on_disk, eventually, spec

from holdfast.deliver import Delivery, DeliveryPhase, DeliverySettings, LaneState
from holdfast.ledger import Start
from holdfast.model.errors import (
    CommitStateUnknown,
    PipelineFailed,
    PipelineFenced,
    StoreClosed,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from holdfast.model.positions import Lsn
from holdfast.model.steps import Step
from holdfast.testing import RecordingSink

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.model.positions import Position


@pytest.fixture
def store(world: World) -> TestingStore:
    return TestingStore(world.shelf)


def test_answers_during_a_write_share_the_next_one(world: World, store: TestingStore) -> None:
    delivery = world.running(spec("a", RecordingSink()), store=store)
    store.shut()
    world.publish(1, to=delivery)
    assert store.writing.wait(20)
    world.publish(9, to=delivery)
    eventually(delivery, lambda status: status.lanes["a"].cursor == 10)
    store.open()
    eventually(delivery, all_on_disk)
    assert [cursors.delivered["a"] for cursors in store.written] == [0, 1, 10]


@pytest.mark.req("X3")
def test_sources_are_told_and_batches_forgotten_only_after_the_cursors_are_durable(world: World) -> None:
    order: list[str] = []
    steps = {Step.CURSOR_WRITTEN: "durable", Step.OUTBOX_TRIM: "forgotten"}

    def note(step: str, /) -> None:
        if step in steps:
            order.append(steps[Step(step)])

    def committed(positions: Mapping[str, Position]) -> None:
        order.append(f"committed {positions['orders']}")

    delivery = world.running(spec("a", RecordingSink()), hook=note, committed=committed)
    world.publish(1, to=delivery)
    eventually(delivery, lambda _: world.outbox.forgotten == 1)
    assert order == ["durable", "durable", f"committed {Lsn(100)}", "forgotten"]


@pytest.mark.parametrize("kind", [StoreFull, StoreUnavailable, StoreReadOnly, CommitStateUnknown])
def test_a_store_that_fails_for_a_while_is_tried_again_and_shown(
    world: World, store: TestingStore, kind: type[StoreFull]
) -> None:
    sink = RecordingSink()
    delivery = world.running(spec("a", sink), store=store)
    store.failing = kind("The store is away.", remedy="Wait.")
    world.publish(3, to=delivery)
    status = eventually(delivery, lambda status: status.trouble is not None and status.lanes["a"].cursor == 3)
    assert "The store is away." in (status.trouble or "")
    assert (status.committed, status.committed_on_disk, status.is_durable) == (3, 0, False)
    assert (world.told, world.outbox.forgotten) == ([], 0), "nobody is told what is not durable"
    store.failing = None
    world.clock.run_until(lambda: all_on_disk(delivery.status()))
    assert delivery.status().trouble is None
    assert [cursors.delivered["a"] for cursors in store.written] == [0, 3], "the newest state wins"


def test_a_store_that_cannot_come_back_fails_the_pipeline(world: World, store: TestingStore) -> None:
    delivery = world.running(spec("a", RecordingSink()), store=store)
    store.failing = StoreClosed("Somebody closed it.", remedy="Open it.")
    world.publish(1, to=delivery)
    eventually(delivery, lambda status: status.phase is DeliveryPhase.FAILED)
    with pytest.raises(PipelineFailed):
        world.publish(1, to=delivery)


@pytest.mark.req("D3", "X11")
def test_a_second_instance_fences_the_first(world: World) -> None:
    world.outbox.release = lambda through: None  # type: ignore[method-assign]
    first = RecordingSink()
    old = world.running(spec("a", first))
    world.publish(1, to=old)
    eventually(old, all_on_disk)
    second = RecordingSink(first.vault)
    new = world.running(spec("a", second))
    world.publish(3, to=new)
    batch = world.outbox.published[-1]
    with suppress(PipelineFenced):
        old.published(batch)
    status = eventually(old, lambda status: status.phase is DeliveryPhase.FENCED)
    assert status.lanes["a"].state is LaneState.FENCED
    eventually(new, all_on_disk)
    on_disk = world.on_disk()
    old.stop()
    assert world.on_disk() == on_disk, "the fenced one changed nothing, not even by its stop"
    assert first.vault.batches == [1, 2, 3, 4]
    with pytest.raises(PipelineFenced):
        world.publish(1, to=old)


def test_old_versions_of_the_cursors_are_pruned(world: World, store: TestingStore) -> None:
    delivery = world.running(spec("a", RecordingSink()), store=store, settings=DeliverySettings(keep_versions=5))
    for _ in range(30):
        world.publish(1, to=delivery)
        eventually(delivery, all_on_disk)
    assert len(store.written) > 20
    assert len(store.versions("cursors")) < 11


class TestCadence:
    """Answers gather between two writes; whoever needs the cursors on disk does not wait for that."""

    @pytest.fixture
    def delivery(self, world: World, store: TestingStore) -> Delivery:
        delivery = world.running(spec("a", RecordingSink()), store=store, settings=DeliverySettings(cadence=1.0))
        world.publish(1, to=delivery)
        eventually(delivery, lambda status: status.lanes["a"].cursor == 1)
        world.clock.wait_for_sleepers()
        return delivery

    def test_answers_within_it_share_a_write(self, world: World, store: TestingStore, delivery: Delivery) -> None:
        world.clock.advance(0.9)
        world.publish(2, to=delivery)
        eventually(delivery, lambda status: status.lanes["a"].cursor == 3)
        assert [cursors.delivered["a"] for cursors in store.written] == [0]
        assert (world.told, world.outbox.forgotten) == ([], 0), "nobody is told what is not durable"
        world.clock.advance(0.1)
        eventually(delivery, all_on_disk)
        assert [cursors.delivered["a"] for cursors in store.written] == [0, 3]

    def test_what_is_committed_is_told_right_after_the_write(self, world: World, delivery: Delivery) -> None:
        world.clock.advance(1.0)
        eventually(delivery, lambda _: world.told == [{"orders": Lsn(100)}])

    def test_a_stop_does_not_wait_for_it(self, store: TestingStore, delivery: Delivery) -> None:
        delivery.stop()
        assert store.written[-1].delivered == {"a": 1}

    def test_what_gathers_when_it_is_abandoned_is_not_written(self, store: TestingStore, delivery: Delivery) -> None:
        delivery.abandon()
        assert [cursors.delivered["a"] for cursors in store.written] == [0]

    def test_an_operator_does_not_wait_for_it(self, world: World, delivery: Delivery) -> None:
        delivery.add_sink(spec("b", RecordingSink(), start=Start.NOW))
        world.publish(1, to=delivery)
        eventually(delivery, lambda status: status.lanes["b"].cursor == 2)


def test_released_batches_are_forgotten_in_memory_too(world: World) -> None:
    delivery = world.running(spec("a", RecordingSink()))
    world.publish(10, to=delivery)
    eventually(delivery, lambda _: world.outbox.forgotten == 10 and delivery._core.rows_of == {})
