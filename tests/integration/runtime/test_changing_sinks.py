"""Sinks are added to a running pipeline and removed from it: each gets what it should, and holds nothing back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import SOON, Tap, Watched, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Files, Generator, Pace, Pipeline, Quotas, SinkSpec, Sqlite, Until
from holdfast.capture import CaptureState
from holdfast.ledger import Start
from holdfast.model.errors import NotRetained

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver import Delivery

EARLY, LATE, LATEST = 165, 330, 660
"""All of them end with a transaction."""


class World:
    """A table, an archive that may be down (then the outbox keeps everything), and a table that comes later."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.source = Tap(LATEST)
        self.archive = Watched(Files(directory / "files"))
        self.late = Watched(Sqlite(directory / "late.db", table="orders"))
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(impatient("table", Sqlite(directory / "sink.db", table="orders")))
            .write(impatient("archive", self.archive, required=False))
            .keep_delivered(0)
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        )

    @property
    def delivery(self) -> Delivery:
        return self.whole.engine.delivery

    def late_spec(self, start: Start | int) -> SinkSpec:
        return replace(impatient("late", self.late), start=start)

    def bring(self, events: int, *lanes: str) -> int:
        """Open the tap, wait until so much is published and these lanes have it, and say in how many batches."""
        self.source.open_to = events
        outbox = self.whole.engine.ground.outbox

        def is_there() -> bool:
            newest = outbox.newest()
            known = self.whole.status().delivery.lanes
            return (
                newest is not None
                and sum(newest.ends.values()) == events
                and all(known[name].cursor == newest.oseq for name in lanes)
            )

        wait_until(is_there, f"{lanes} have {events} events")
        return outbox.last_oseq()

    def late_numbers(self) -> list[int]:
        return table_numbers(self.directory / "late.db")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


FROM_THE_FIRST = pytest.mark.parametrize("start", [Start.EARLIEST, Start.SNAPSHOT])


@pytest.mark.req("X14")
@FROM_THE_FIRST
def test_a_sink_that_is_added_to_start_with_the_first_batch_gets_everything(world: World, start: Start) -> None:
    world.archive.down.set()
    with started(world.whole):
        world.bring(EARLY, "table")
        world.delivery.add_sink(world.late_spec(start))
        world.bring(LATE, "table", "late")
    assert world.late_numbers() == passed(LATE)


@pytest.mark.req("X14")
def test_a_sink_that_is_added_to_start_now_gets_what_comes_from_now_on(world: World) -> None:
    with started(world.whole):
        world.bring(EARLY, "table")
        world.delivery.add_sink(world.late_spec(Start.NOW))
        world.bring(LATE, "table", "late")
    assert world.late_numbers() == passed(LATE)[len(passed(EARLY)) :]


@pytest.mark.req("X14")
def test_a_sink_that_is_added_to_start_after_a_batch_gets_what_follows_it(world: World) -> None:
    world.archive.down.set()
    with started(world.whole):
        after = world.bring(EARLY, "table")
        world.bring(LATE, "table")
        world.delivery.add_sink(world.late_spec(after))
        world.bring(LATEST, "table", "late")
    assert world.late_numbers() == passed(LATEST)[len(passed(EARLY)) :]


@pytest.mark.req("X14")
@FROM_THE_FIRST
def test_a_sink_that_needs_what_is_gone_is_refused_with_what_is_missing(world: World, start: Start) -> None:
    with started(world.whole):
        world.bring(EARLY, "table", "archive")
        wait_until(lambda: world.whole.engine.ground.outbox.trimmed() > 0, "batches are gone")
        with pytest.raises(NotRetained) as refusal:
            world.delivery.add_sink(world.late_spec(start))
        world.source.open_to = LATEST
        assert world.whole.wait(until=Until.CAUGHT_UP, timeout=SOON)
        assert "late" not in world.whole.status().delivery.lanes
        first, last = missing_in(refusal.value)
        published = {batch.oseq: batch for batch in world.whole.engine.ground.outbox.remembered()}
    assert first == 1
    assert refusal.value.context["positions"] == published[last].positions
    assert table_numbers(world.directory / "sink.db") == passed(LATEST)


def missing_in(refusal: NotRetained) -> tuple[int, int]:
    missing = refusal.context["missing"]
    assert isinstance(missing, tuple)
    return missing


@pytest.mark.req("X14")
@FROM_THE_FIRST
def test_a_start_with_a_new_sink_that_needs_what_is_gone_is_refused_too(world: World, start: Start) -> None:
    with started(world.whole):
        newest = world.bring(EARLY, "table", "archive")
        wait_until(lambda: world.whole.engine.ground.outbox.trimmed() == newest, "batches are gone")
    with pytest.raises(NotRetained, match="They came from orders up to") as refusal:
        world.whole.write(world.late_spec(start)).start()
    assert missing_in(refusal.value) == (1, newest)
    world.source.open_to = LATEST
    with started(world.whole):
        finish(world.whole)
    assert table_numbers(world.directory / "sink.db") == passed(LATEST)


@pytest.mark.req("X14")
def test_a_sink_that_is_added_in_full_flow_gets_whole_batches_from_some_batch_on(world: World) -> None:
    events = 2000
    flowing = Generator("orders", events=events, transactions=(3, 7, 1), chunk=60, pace=Pace(rate=4000))
    whole = replace_sources(world, flowing)
    with started(whole):
        wait_until(lambda: len(world.archive.taken) >= 2, "it is in full flow")
        whole.engine.delivery.add_sink(world.late_spec(Start.NOW))
        finish(whole)
    got = world.late_numbers()
    assert 0 < len(got) < len(passed(events))
    assert got == passed(events)[-len(got) :]


def replace_sources(world: World, source: Generator) -> Pipeline:
    return (
        Pipeline("orders", directory=world.directory / "pipeline")
        .read(source)
        .write(impatient("archive", world.archive))
        .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
    )


@pytest.mark.req("X14", "D1")
def test_a_sink_that_was_added_now_is_still_owed_the_same_after_a_restart(world: World) -> None:
    with started(world.whole):
        world.bring(EARLY, "table")
        world.delivery.add_sink(world.late_spec(Start.NOW))
        world.late.down.set()
        world.bring(LATE, "table")
    world.late.down.clear()
    whole = world.whole.write(world.late_spec(Start.NOW))
    world.source.open_to = LATEST
    with started(whole):
        finish(whole)
    assert world.late_numbers() == passed(LATEST)[len(passed(EARLY)) :]


class TestRemoved:
    """A sink that is down holds everything back until it is removed."""

    @pytest.mark.req("X14")
    def test_it_pins_nothing_in_the_outbox(self, world: World) -> None:
        world.archive.down.set()
        with started(world.whole):
            newest = world.bring(EARLY, "table")
            assert world.whole.engine.ground.outbox.trimmed() == 0
            world.delivery.remove_sink("archive")
            wait_until(lambda: world.whole.engine.ground.outbox.trimmed() == newest, "the outbox is empty")

    @pytest.mark.req("X14", "M5")
    def test_what_it_leaves_undone_is_said(self, world: World) -> None:
        world.archive.down.set()
        with started(world.whole):
            newest = world.bring(EARLY, "table")
            record = world.delivery.remove_sink("archive")
        left = (*record.abandoned.get("archive", ()), *record.remaining.get("archive", ()))
        assert left == tuple(range(1, newest + 1))

    @pytest.mark.req("X14")
    def test_capture_that_waited_for_it_goes_on(self, world: World) -> None:
        world.archive.down.set()
        world.source.open_to = LATEST
        whole = world.whole.quotas(Quotas(inbox=20_000, outbox=20_000))
        with started(whole):
            wait_until(lambda: capture_of(whole) is CaptureState.BLOCKED, "capture waits for room")
            wait_until(lambda: not whole.engine.ground.outbox.has_room(), "the outbox is full")
            whole.engine.delivery.remove_sink("archive")
            finish(whole)
        assert table_numbers(world.directory / "sink.db") == passed(LATEST)

    @pytest.mark.req("X14")
    def test_the_others_go_on_and_it_gets_nothing_more(self, world: World) -> None:
        with started(world.whole):
            world.bring(EARLY, "table", "archive")
            world.delivery.remove_sink("archive")
            world.source.open_to = LATEST
            finish(world.whole)
        assert table_numbers(world.directory / "sink.db") == passed(LATEST)
        assert file_numbers(world.directory / "files") == passed(EARLY)


def capture_of(whole: Pipeline) -> CaptureState:
    (capture,) = whole.status().captures
    return capture.state
