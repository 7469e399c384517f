"""A disk under a pipeline's directory is full or read-only for a while: it is said, nothing is lost, and it goes on."""

from __future__ import annotations

import errno
import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_disks import Ballast, checkpoints_on_small_disk
from tests.support.engine_pipelines import Tap, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed
from tests.support.mounts import read_only, small_disk

from holdfast import BatchLimits, Budget, Files, Pipeline, Quotas, Sqlite, State
from holdfast.capture import CaptureState
from holdfast.checkpoint import CURSORS
from holdfast.model.errors import LogReadOnly
from holdfast.model.positions import Order, Seq

EARLY, LATE = 165, 1980


class World:
    """Orders into a table and files, with no failure forgiven: a disk that is full is nobody's fault."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.root = directory / "pipeline"
        self.root.mkdir()
        self.source = Tap(LATE)
        self.whole = (
            Pipeline("orders", directory=self.root)
            .read(self.source)
            .write(
                impatient("table", Sqlite(directory / "sink.db", table="orders")),
                impatient("archive", Files(directory / "files"), max_inflight=2),
            )
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .restarts(Budget(failures=0))
        )

    def bring(self, events: int) -> None:
        self.source.open_to = events
        wait_until(lambda: self.have(events), f"both sinks have {events} events")

    def have(self, events: int) -> bool:
        newest = self.whole.engine.ground.outbox.newest()
        is_published = newest is not None and sum(newest.ends.values()) >= events
        return is_published and self.whole.engine.delivery.is_caught_up()

    def have_rows(self) -> bool:
        expected = len(passed(LATE))
        return len(table_numbers(self.directory / "sink.db")) == len(file_numbers(self.directory / "files")) == expected

    def capture_state(self) -> CaptureState:
        (capture,) = self.whole.status().captures
        return capture.state

    def is_in_trouble(self) -> bool:
        status = self.whole.status()
        is_capture_waiting = self.capture_state() is CaptureState.RETRYING
        return is_capture_waiting or status.spark.restarts > 0 or status.delivery.trouble is not None

    def check_exact(self) -> None:
        assert table_numbers(self.directory / "sink.db") == passed(LATE)
        assert file_numbers(self.directory / "files") == passed(LATE)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.req("D1", "X5")
def test_an_inbox_without_room_makes_capture_wait_and_it_goes_on_by_itself(world: World) -> None:
    with small_disk(world.root / "inbox") as disk, started(world.whole):
        world.bring(EARLY)
        ballast = Ballast(disk)
        world.source.open_to = LATE
        wait_until(lambda: world.capture_state() is CaptureState.RETRYING, "capture waits for the disk")
        ballast.remove()
        finish(world.whole)
        world.check_exact()


@pytest.mark.req("D1", "X5")
def test_an_outbox_without_room_makes_spark_wait_and_it_goes_on_by_itself(world: World) -> None:
    with small_disk(world.root / "outbox") as disk, started(world.whole):
        world.bring(EARLY)
        ballast = Ballast(disk)
        world.source.open_to = LATE
        wait_until(lambda: world.whole.status().spark.restarts > 0, "the query is started again")
        assert world.whole.engine.state is State.RUNNING
        ballast.remove()
        finish(world.whole)
        world.check_exact()


@pytest.mark.req("D1", "X5")
def test_checkpoints_without_room_are_written_by_themselves_once_there_is(world: World) -> None:
    with checkpoints_on_small_disk(world.root, world.directory / "elsewhere") as disk, started(world.whole):
        world.bring(EARLY)
        ballast = Ballast(disk)
        world.source.open_to = LATE
        wait_until(world.have_rows, "both sinks have everything all the same")
        assert world.whole.status().delivery.trouble is not None
        ballast.remove()
        finish(world.whole)
        world.check_exact()


@pytest.mark.req("X3")
def test_while_checkpoints_have_no_room_the_source_is_told_nothing(world: World) -> None:
    with checkpoints_on_small_disk(world.root, world.directory / "elsewhere") as disk, started(world.whole):
        world.bring(EARLY)
        wait_until(lambda: Seq(EARLY) in world.source.told, "the source is told what is safe")
        ballast = Ballast(disk)
        world.source.open_to = LATE
        wait_until(world.have_rows, "both sinks have everything all the same")
        stored = world.whole.engine.ground.store.get(CURSORS)
        assert stored is not None
        assert world.source.told[-1].compare(stored.positions["orders"]) is not Order.AFTER
        assert world.source.told[-1] != Seq(LATE)
        ballast.remove()
        wait_until(lambda: Seq(LATE) in world.source.told, "the source is told the rest")


@pytest.mark.req("D1", "X5")
def test_a_whole_directory_that_fills_up_in_full_flow_goes_on_by_itself(world: World) -> None:
    world.whole = world.whole.restarts(Budget())  # a processor that cannot write its books crashes, as Spark does
    with small_disk(world.root, "16M") as disk, started(world.whole):
        world.source.open_to = LATE
        wait_until(lambda: world.whole.engine.ground.outbox.last_oseq() > 2, "it is in full flow")
        ballast = Ballast(disk)
        wait_until(world.is_in_trouble, "somebody waits for the disk")
        ballast.remove()
        finish(world.whole)
        world.check_exact()


@pytest.mark.req("D1", "X5")
def test_an_inbox_whose_disk_fails_for_a_moment_is_written_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync, failures = os.fsync, iter([errno.EIO])

    def fail_once(descriptor: int) -> None:
        if "/segments/" in str(Path(f"/proc/self/fd/{descriptor}").readlink()) and next(failures, None):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        fsync(descriptor)

    with started(world.whole):
        world.bring(EARLY)
        monkeypatch.setattr(os, "fsync", fail_once)
        world.source.open_to = LATE
        finish(world.whole)
    assert next(failures, None) is None
    world.check_exact()


class TestReadOnly:
    """A place that may not be written for a while."""

    def test_a_start_is_refused_with_the_reason_and_possible_later(self, world: World) -> None:
        with started(world.whole):
            world.bring(EARLY)
        with read_only(world.root), pytest.raises(LogReadOnly, match=r"owner\.lock"):
            world.whole.start()
        world.source.open_to = LATE
        with started(world.whole):
            finish(world.whole)
        world.check_exact()

    @pytest.mark.req("D1", "X5")
    def test_an_outbox_makes_spark_wait_and_it_goes_on_by_itself(self, world: World) -> None:
        with started(world.whole):
            world.bring(EARLY)
            with read_only(world.root / "outbox" / "parts"):
                world.source.open_to = LATE
                wait_until(lambda: world.whole.status().spark.restarts > 0, "the query is started again")
                assert world.whole.engine.state is State.RUNNING
            finish(world.whole)
        world.check_exact()

    @pytest.mark.req("D1", "X5")
    def test_an_inbox_makes_capture_wait_and_it_goes_on_by_itself(self, world: World) -> None:
        whole = world.whole = world.whole.quotas(Quotas(inbox=40_000))
        with started(whole):
            world.bring(EARLY)
            with read_only(world.root / "inbox" / "orders" / "segments"):
                world.source.open_to = LATE
                wait_until(lambda: world.capture_state() is CaptureState.RETRYING, "capture needs another file")
            finish(whole)
        world.check_exact()
