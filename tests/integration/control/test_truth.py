"""What is wrong is told within one interval, with cause and remedy, and no longer than it is wrong."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from holdfast import BatchLimits, Files, Pipeline, Sqlite
from holdfast.capture import CaptureState
from holdfast.control.exporting import MetricsPort
from holdfast.control.health import Alarm, Level
from holdfast.control.observer import Observer
from holdfast.control.status import status_of
from holdfast.deliver import LaneState
from holdfast.model.errors import SourceUnavailable
from tests.support.engine_disks import Ballast, checkpoints_on_small_disk
from tests.support.engine_pipelines import Tap, Watched, impatient, started, wait_until
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from holdfast.capture import Captured
    from holdfast.control.health import Finding
    from holdfast.control.status import Status
    from holdfast.deliver import SinkBatch
    from holdfast.model.positions import Position

INTERVAL = 0.5


class Fragile(Tap):
    """A source that may be gone."""

    is_gone = False
    is_deaf = False

    def acknowledge(self, position: Position) -> None:
        if self.is_deaf:
            raise ConnectionError("the slot is gone")
        super().acknowledge(position)

    def read(self, wait: float) -> Captured | None:
        if self.is_gone:
            raise SourceUnavailable("The database has gone away.", remedy="Start it again.")
        return super().read(wait)


class World:
    """Orders into a table that is needed and files that are not, and what is told about it once an interval."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.source = Fragile(10_000)
        self.table = Watched(Sqlite(directory / "sink.db", table="orders"))
        self.files = Watched(Files(directory / "files"))
        self.told: list[Status] = []
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(impatient("table", self.table), impatient("archive", self.files, required=False))
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        )

    @contextmanager
    def watched(self) -> Iterator[Observer]:
        with started(self.whole):
            observer = Observer(
                self.whole.engine, interval=INTERVAL, told=lambda pictures: self.told.append(status_of(pictures))
            )
            observer.start()
            try:
                yield observer
            finally:
                observer.close()

    def bring(self, events: int) -> None:
        self.source.open_to += events

    def lane(self, name: str) -> LaneState:
        return self.whole.status().delivery.lanes[name].state

    def finding(self, component: str) -> Finding | None:
        found = self.told[-1].health.findings if self.told else ()
        return next((finding for finding in found if finding.component == component), None)

    def is_told_within_an_interval(self, holds: Callable[[], bool]) -> None:
        """The next picture tells it; a slow machine gets a moment more."""
        before = len(self.told)
        wait_until(lambda: len(self.told) > before + 1, "the next pictures are taken")
        assert holds(), self.told[-1].health

    def is_well(self) -> bool:
        return bool(self.told) and self.told[-1].health.level is Level.OK and self.told[-1].health.ready


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def code_of_health(port: int) -> int:
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code


@pytest.mark.req("X6", "X21")
def test_a_dead_sink_is_told_with_cause_and_remedy_and_it_recovers_by_itself(world: World) -> None:
    with world.watched() as observer:
        port = MetricsPort(0, lambda: status_of(observer.pictures()))
        try:
            world.bring(110)
            wait_until(world.is_well, "it is well")
            assert code_of_health(port.port) == 200
            world.table.down.set()
            world.bring(110)
            wait_until(lambda: world.lane("table") is LaneState.FROZEN, "its lane is frozen")
            world.is_told_within_an_interval(lambda: world.finding("sink table") is not None)
            finding = world.finding("sink table")
            assert finding is not None
            assert (finding.level, finding.alarm) == (Level.FAILING, Alarm.LANE_FROZEN)
            assert "The sink is down." in finding.cause
            assert code_of_health(port.port) == 503
            (lane,) = [lane for lane in world.told[-1].snapshot.lanes if lane.name == "table"]
            assert lane.lag_batches > 0
            assert lane.lag_rows > 0
            assert 0 < lane.age < 60
            assert lane.error
            world.table.down.clear()
            wait_until(world.is_well, "it is well again")
            assert code_of_health(port.port) == 200
        finally:
            port.close()


def test_a_dead_sink_that_is_not_required_leaves_the_pipeline_ready(world: World) -> None:
    with world.watched():
        world.files.down.set()
        world.bring(110)
        wait_until(lambda: world.lane("archive") is LaneState.FROZEN, "its lane is frozen")
        world.is_told_within_an_interval(lambda: world.finding("sink archive") is not None)
        assert world.told[-1].health.level is Level.DEGRADED
        assert world.told[-1].health.ready


def test_a_stalled_source_is_told_and_it_recovers_by_itself(world: World) -> None:
    with world.watched():
        world.bring(110)
        wait_until(world.is_well, "it is well")
        world.source.is_gone = True
        wait_until(lambda: world.whole.status().captures[0].state is CaptureState.RETRYING, "capture retries")
        world.is_told_within_an_interval(lambda: world.finding("source orders") is not None)
        finding = world.finding("source orders")
        assert finding is not None
        assert finding.alarm is Alarm.SOURCE_STALLED
        assert "The database has gone away." in finding.cause
        world.source.is_gone = False
        world.bring(110)
        wait_until(world.is_well, "it is well again")


def test_a_full_disk_under_the_inbox_is_told_and_it_recovers_by_itself(world: World) -> None:
    inbox = world.directory / "pipeline" / "inbox"
    inbox.parent.mkdir()
    with small_disk(inbox) as disk, world.watched():
        world.bring(110)
        wait_until(world.is_well, "it is well")
        ballast = Ballast(disk)
        world.bring(550)
        wait_until(lambda: world.whole.status().captures[0].state is CaptureState.RETRYING, "capture retries")
        world.is_told_within_an_interval(lambda: world.finding("source orders") is not None)
        ballast.remove()
        wait_until(world.is_well, "it is well again")


@pytest.mark.req("K11")
def test_a_full_disk_under_the_checkpoints_is_told_and_it_recovers_by_itself(world: World) -> None:
    root = world.directory / "pipeline"
    root.mkdir()
    with checkpoints_on_small_disk(root, world.directory / "elsewhere") as disk, world.watched():
        world.bring(110)
        wait_until(lambda: bool(world.told) and world.told[-1].snapshot.outbox.committed > 0, "it works")
        ballast = Ballast(disk)
        world.bring(3000)
        wait_until(lambda: world.whole.status().delivery.trouble is not None, "cursors cannot be written")
        world.is_told_within_an_interval(lambda: world.finding("disk") is not None)
        assert world.finding("checkpoint") is not None
        wait_until(lambda: Alarm.CHECKPOINT_AGE in {f.alarm for f in world.told[-1].health.findings}, "it is alarmed")
        ballast.remove()
        wait_until(lambda: world.finding("checkpoint") is None, "it is well again")


@pytest.mark.req("X24")
def test_latency_is_measured_to_the_commit_of_each_sink(world: World) -> None:
    held = 0.7
    world.files.before = lambda _: time.sleep(held)
    with world.watched():
        wait_until(lambda: bool(world.told), "it is watched")
        world.bring(60)
        wait_until(lambda: all(lane.latency.batches for lane in world.told[-1].snapshot.lanes), "both are measured")
        latency = {lane.name: lane.latency for lane in world.told[-1].snapshot.lanes}
        assert latency["archive"].worst >= held
        assert latency["table"].p50 < latency["archive"].p50


def test_a_slow_drain_is_no_frozen_lane(world: World) -> None:
    slow, may_answer = Event(), Event()

    def wait(_: SinkBatch) -> None:
        if slow.is_set():
            may_answer.wait(60)

    world.table.before = wait
    with world.watched():
        world.bring(110)
        wait_until(world.is_well, "it is well")
        slow.set()
        world.bring(110)
        wait_until(lambda: world.whole.status().delivery.lanes["table"].in_flight > 0, "a batch is with the sink")
        drain = Thread(target=world.whole.drain, kwargs={"within": 1.0})
        drain.start()
        wait_until(lambda: world.lane("table") is LaneState.ENDED, "the drain's time is up")
        world.is_told_within_an_interval(lambda: world.told[-1].snapshot.state == "draining")
        assert world.whole.engine.is_open, "the drain still waits for the sink"
        may_answer.set()
        drain.join(60)
        assert Alarm.LANE_FROZEN not in {finding.alarm for status in world.told for finding in status.health.findings}


def test_a_source_that_cannot_be_acknowledged_is_told_with_since_when_and_why(world: World) -> None:
    world.source.is_deaf = True
    with world.watched():
        world.bring(110)
        wait_until(lambda: world.finding("source orders") is not None, "it is told")
        finding = world.finding("source orders")
        assert finding is not None
        assert (finding.level, finding.alarm) == (Level.DEGRADED, Alarm.SOURCE_UNACKNOWLEDGED)
        assert re.fullmatch(
            r"It could not be acknowledged for \d+ s: ConnectionError: the slot is gone\.", finding.cause
        )
        assert world.told[-1].health.ready
        (seen,) = world.told[-1].snapshot.sources
        assert (seen.position, seen.unacknowledged) == (None, "ConnectionError: the slot is gone")
        world.source.is_deaf = False
        wait_until(world.is_well, "it is well again")
        wait_until(lambda: world.told[-1].snapshot.sources[0].position == "110", "the position is that acknowledged")
