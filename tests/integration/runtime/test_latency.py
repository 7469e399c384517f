"""How long it takes from the capture of an event to the commit of each sink, as the status tells it."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.engine_pipelines import finish, impatient, started, wait_until
from tests.support.engine_world import EVENTS, World

from holdfast import BatchLimits, Pipeline, Sqlite
from holdfast.testing import LocalProcessor, Script

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.notes import Note

    from holdfast.deliver.status import Latency


def latency(whole: Pipeline, sink: str) -> Latency:
    return whole.status().delivery.lanes[sink].latency


@pytest.mark.req("X24", "D15")
def test_the_only_event_is_committed_when_its_wait_is_over_and_one_batch_later(tmp_path: Path, note: Note) -> None:
    max_wait = 3.0
    whole = (
        Pipeline("orders", directory=tmp_path / "pipeline")
        .read(Script([{"n": 1}]))
        .write(impatient("table", Sqlite(tmp_path / "sink.db", table="orders")))
        .batch(BatchLimits(max_wait=timedelta(seconds=max_wait)))
    )
    with started(whole, processor=LocalProcessor):
        finish(whole)
    found = latency(whole, "table")
    assert found.batches == 1
    assert max_wait <= found.longest < 2 * max_wait, "it waits once, and one batch is much quicker than that"
    note(f"the only event is in the sink {found.longest:.3f} s after its capture, of which it may wait {max_wait} s")


@pytest.mark.req("X24")
def test_a_sink_that_was_down_tells_how_long_its_events_took_and_the_other_is_not_blamed(tmp_path: Path) -> None:
    world = World(tmp_path)
    with started(world.whole):
        world.bring(165, "table", "archive")
        world.archive.down.set()
        world.bring(330, "table")
        time.sleep(1)
        world.archive.down.clear()
        world.source.open_to = EVENTS
        finish(world.whole)
        assert latency(world.whole, "archive").longest >= 1
        assert latency(world.whole, "table").batches == latency(world.whole, "archive").batches


@pytest.mark.req("X24")
def test_what_was_captured_before_a_restart_is_measured_from_its_capture(tmp_path: Path) -> None:
    world = World(tmp_path)
    with started(world.whole):
        world.archive.down.set()
        world.bring(330, "table")
        world.whole.drain(within=0)
    time.sleep(1)
    world.archive.down.clear()
    with started(world.whole):
        wait_until(lambda: world.have(330, ("archive",)), "the archive has everything")
        assert latency(world.whole, "archive").longest >= 1
        assert latency(world.whole, "table").batches == 0
