"""A paused pipeline admits nothing, lanes finish, and it stays paused until somebody resumes it, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import finish, started, wait_until
from tests.support.engine_process import pipeline
from tests.support.engine_world import EVENTS, Counting, World
from tests.support.local_pipelines import passed

from holdfast import State
from holdfast.log import InboxReader
from holdfast.model.errors import LifecycleRefused

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class TestPause:
    """Events come, the archive is down with batches waiting for it, and somebody pauses the pipeline."""

    def paused(self, world: World, processor: Counting) -> None:
        world.archive.down.set()
        world.bring(165, "table")
        world.whole.pause()
        with InboxReader.open(world.directory / "pipeline" / "inbox" / "orders") as inbox:
            wait_until(inbox.admission_paused, "admission is closed")
        self.look(processor)

    def look(self, processor: Counting) -> None:
        so_far = processor.looks
        wait_until(lambda: processor.looks > so_far + 2, "the processor has looked for work")

    def test_nothing_new_is_published_although_capture_goes_on(self, world: World) -> None:
        processor = Counting(orders)
        with started(world.whole, processor=lambda: processor):
            self.paused(world, processor)
            before = world.published()
            world.source.open_to = EVENTS
            (capture,) = world.whole.engine.captures
            wait_until(lambda: capture.finished, "everything is captured")
            self.look(processor)
            assert world.published() == before

    def test_lanes_finish_what_was_published(self, world: World) -> None:
        processor = Counting(orders)
        with started(world.whole, processor=lambda: processor):
            self.paused(world, processor)
            world.archive.down.clear()
            wait_until(lambda: world.archive.taken == world.published(), "the archive has all that was published")
            assert world.whole.engine.state is State.PAUSED

    def test_it_goes_on_when_it_is_resumed(self, world: World) -> None:
        processor = Counting(orders)
        with started(world.whole, processor=lambda: processor):
            self.paused(world, processor)
            world.archive.down.clear()
            world.source.open_to = EVENTS
            world.whole.resume()
            finish(world.whole)
        world.check_exact()

    @pytest.mark.req("M15")
    def test_it_can_be_drained_and_the_next_start_is_paused_until_it_is_resumed(self, world: World) -> None:
        processor = Counting(orders)
        with started(world.whole, processor=lambda: processor):
            self.paused(world, processor)
            world.whole.drain(within=0.1)
        world.archive.down.clear()
        world.source.open_to = EVENTS
        again = Counting(orders)
        with started(world.whole, processor=lambda: again):
            self.look(again)
            assert world.whole.status().state is State.PAUSED
            assert world.whole.status().spark.batch_id == 2
            world.whole.resume()
            finish(world.whole)
        world.check_exact()

    def test_what_was_resumed_is_not_paused_after_a_restart(self, world: World) -> None:
        with started(world.whole):
            world.whole.pause()
            world.whole.resume()
        world.source.open_to = EVENTS
        with started(world.whole):
            assert world.whole.engine.state is State.RUNNING
            finish(world.whole)
        world.check_exact()

    def test_one_that_ends_anyway_cannot_be_paused_and_is_not_paused_at_its_next_start(self, world: World) -> None:
        with started(world.whole):
            world.whole.drain()
            with pytest.raises(LifecycleRefused):
                world.whole.pause()
        with started(world.whole):
            assert world.whole.engine.state is State.RUNNING


@pytest.mark.req("M15")
def test_a_pipeline_that_was_paused_when_it_was_killed_is_paused_until_it_is_resumed(tmp_path: Path) -> None:
    killed_while_paused(tmp_path)
    processor = Counting(orders)
    whole = pipeline(tmp_path, EVENTS, failures=9)
    with started(whole, processor=lambda: processor):
        wait_until(lambda: processor.looks > 3, "the processor has looked for work")
        assert whole.status().state is State.PAUSED
        before = whole.engine.ground.outbox.last_oseq()
        wait_until(lambda: whole.engine.captures[0].finished, "everything is captured")
        wait_until(lambda: processor.looks > 6, "the processor has looked for work")
        assert whole.engine.ground.outbox.last_oseq() == before
        whole.resume()
        finish(whole)
    assert table_numbers(tmp_path / "sink.db") == passed(EVENTS)


def killed_while_paused(directory: Path) -> None:
    command = [sys.executable, "-m", "tests.support.engine_process", str(directory), str(EVENTS), "9", "paused"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "paused\n"
        process.kill()
