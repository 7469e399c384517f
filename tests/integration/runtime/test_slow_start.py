"""Spark takes its time to come up: whoever ends the run before does not wait for it, and it runs nothing later."""

from __future__ import annotations

import threading
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.engine_pipelines import SOON, finish, started, wait_until
from tests.support.engine_world import EVENTS, World

from holdfast import State
from holdfast.ledger import StopReason
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


class SlowToComeUp:
    """What runs the steps comes up when it is let."""

    def __init__(self) -> None:
        self.is_coming_up, self.may_come_up, self.is_up = Event(), Event(), Event()

    def __call__(self) -> LocalProcessor:
        self.is_coming_up.set()
        assert self.may_come_up.wait(SOON)
        self.is_up.set()
        return LocalProcessor(orders)


class TestWhileSparkComesUp:
    """Capture and lanes work already, and somebody ends the run."""

    @pytest.mark.req("M15")
    def test_a_drain_waits_for_it_not_at_all_and_ends_capture_and_lanes_in_order(self, world: World) -> None:
        slow = SlowToComeUp()
        with started(world.whole, processor=slow):
            assert slow.is_coming_up.wait(SOON)
            world.source.open_to = 165
            wait_until(lambda: world.whole.status().captures[0].end == 165, "capture works")
            began = time.monotonic()
            record = world.whole.drain(within=SOON)
            assert time.monotonic() - began < 5
        assert record is not None
        assert record.reason is StopReason.GRACEFUL
        assert world.whole.engine.state is State.STOPPED
        slow.may_come_up.set()

    @pytest.mark.req("M15")
    def test_what_comes_up_later_runs_nothing_and_the_next_start_is_exact(self, world: World) -> None:
        slow = SlowToComeUp()
        with started(world.whole, processor=slow):
            assert slow.is_coming_up.wait(SOON)
            world.source.open_to = EVENTS
            wait_until(lambda: world.whole.engine.captures[0].finished, "everything is captured")
            world.whole.drain()
        slow.may_come_up.set()
        wait_until(lambda: "process-orders" not in names_of_threads(), "the thread that brought it up has ended")
        assert slow.is_up.is_set()
        assert not (world.directory / "pipeline" / "spark" / "1" / "metadata").exists()
        with started(world.whole):
            finish(world.whole)
        world.check_exact()

    def test_a_stop_does_not_wait_for_it_either(self, world: World) -> None:
        slow = SlowToComeUp()
        with started(world.whole, processor=slow):
            assert slow.is_coming_up.wait(SOON)
            world.whole.stop()
        assert world.whole.engine.state is State.STOPPED
        slow.may_come_up.set()


def names_of_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}
