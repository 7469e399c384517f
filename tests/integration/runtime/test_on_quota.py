"""An optional sink keeps the outbox full: the pipeline goes on without it and says what it misses, or waits for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import SOON, Watched, finish, impatient, started, stored_cursors, wait_until
from tests.support.local_pipelines import passed
from tests.support.weighing import Gauge

from holdfast import BatchLimits, Files, Generator, Pipeline, Quotas, Sqlite, State, Until
from holdfast.deliver import LaneState, OnQuota
from holdfast.ledger import Gap
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver import LaneStatus

EVENTS = 9000
AT_ONCE = 500
OUTBOX, ONE_BATCH = 120_000, 50_000


class World:
    """The archive takes everything; the table is optional, takes three batches, and is down then."""

    def __init__(self, directory: Path, on_quota: OnQuota, patience: float = 0.2) -> None:
        self.directory = directory
        self.table = Watched(Sqlite(directory / "sink.db", table="orders"), after=self._go_down)
        self.gauge = Gauge(directory / "pipeline" / "outbox" / "parts")
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(Generator("orders", events=EVENTS, transactions=(3, 7), chunk=AT_ONCE))
            .write(impatient("archive", Files(directory / "files")))
            .write(replace(impatient("table", self.table, required=False), on_quota=on_quota))
            .batch(BatchLimits(max_events=AT_ONCE, max_wait=timedelta(0)))
            .quotas(Quotas(outbox=OUTBOX, detach_after=timedelta(seconds=patience)))
        )
        self.running = started(self.whole, processor=lambda: LocalProcessor(orders, hook=self.gauge), hook=self.gauge)

    def _go_down(self, _: object) -> None:
        if len(self.table.taken) == 3:
            self.table.down.set()

    def lane(self) -> LaneStatus:
        return self.whole.status().delivery.lanes["table"]

    def is_full(self) -> bool:
        return not self.whole.engine.ground.outbox.has_room()


@pytest.mark.req("X20", "D6")
def test_the_pipeline_goes_on_without_the_sink_and_the_status_says_what_it_misses(tmp_path: Path) -> None:
    world = World(tmp_path, OnQuota.DETACH)
    with world.running:
        finish(world.whole)
        assert world.lane().state is LaneState.DETACHED
        assert world.lane().gaps == (Gap(3),)
    assert file_numbers(tmp_path / "files") == passed(EVENTS)
    assert table_numbers(tmp_path / "sink.db") == passed(3 * AT_ONCE)
    assert 0 < world.gauge.peak < OUTBOX + ONE_BATCH
    assert stored_cursors(tmp_path)[-1].gaps == {"table": (Gap(3),)}


@pytest.mark.req("X14", "D6")
def test_a_sink_that_is_attached_again_goes_on_and_misses_exactly_its_gap(tmp_path: Path) -> None:
    world = World(tmp_path, OnQuota.DETACH)
    with world.running:
        wait_until(lambda: world.lane().state is LaneState.DETACHED, "the table is detached")
    world.table.down.clear()
    with started(world.whole):
        assert world.lane().state is LaneState.DETACHED
        world.whole.attach("table")
        assert world.whole.wait(until=Until.CAUGHT_UP, timeout=SOON)
        (gap,) = world.lane().gaps
        ends = {batch.oseq: sum(batch.ends.values()) for batch in world.whole.engine.ground.outbox.remembered()}
    assert gap.after == 3
    assert gap.through is not None
    missed = range(ends[gap.after] + 1, ends[gap.through] + 1)
    assert table_numbers(tmp_path / "sink.db") == [n for n in passed(EVENTS) if n not in missed]
    assert file_numbers(tmp_path / "files") == passed(EVENTS)


@pytest.mark.req("X20", "D17")
def test_a_sink_that_is_to_block_is_waited_for_and_everything_goes_on_when_it_returns(tmp_path: Path) -> None:
    world = World(tmp_path, OnQuota.BLOCK, patience=0)
    with world.running:
        wait_until(world.is_full, "the outbox is full")
        wait_until(lambda: world.lane().state is LaneState.FROZEN, "the table's lane is frozen")
        published = world.whole.engine.ground.outbox.last_oseq()
        assert published < EVENTS // AT_ONCE
        assert world.whole.engine.state is State.RUNNING
        assert world.lane().gaps == ()
        world.table.after = lambda _: None
        world.table.down.clear()
        finish(world.whole)
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(EVENTS)
    assert 0 < world.gauge.peak < OUTBOX + ONE_BATCH


@pytest.mark.req("D6")
def test_a_sink_that_returns_in_time_is_not_detached(tmp_path: Path) -> None:
    world = World(tmp_path, OnQuota.DETACH, patience=60)
    with world.running:
        wait_until(world.is_full, "the outbox is full")
        world.table.after = lambda _: None
        world.table.down.clear()
        finish(world.whole)
        assert world.lane().gaps == ()
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(EVENTS)
