"""A sink's place cannot be written for a while, mid-run or at the start: its lane waits, everything else goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import Tap, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed
from tests.support.mounts import read_only

from holdfast import BatchLimits, Budget, Files, Pipeline, Sqlite, State
from holdfast.deliver import LaneState

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver.status import LaneStatus

EARLY, MORE, ALL = 165, 330, 660


class World:
    """Orders into a table and files, each in a directory of its own; no failure is forgiven."""

    def __init__(self, directory: Path) -> None:
        self.places = {name: directory / name for name in ("table", "archive")}
        for place in self.places.values():
            place.mkdir()
        self.source = Tap(ALL)
        self.before = 0
        """The events that earlier runs delivered."""
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(
                impatient("table", Sqlite(self.places["table"] / "sink.db", table="orders")),
                impatient("archive", Files(self.places["archive"]), max_inflight=2),
            )
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .restarts(Budget(failures=0))
        )

    def rows(self, name: str) -> list[int]:
        place = self.places[name]
        return table_numbers(place / "sink.db") if name == "table" else file_numbers(place)

    def lane(self, name: str) -> LaneStatus:
        return self.whole.status().delivery.lanes[name]

    def bring(self, events: int, *names: str) -> None:
        """Let more events come, and wait until these lanes have delivered what this run had to deliver of them."""
        self.source.open_to = events
        rows = len(passed(events)) - len(passed(self.before))
        wait_until(lambda: all(self.lane(name).rows_out == rows for name in names), f"{names} have {events} events")

    def check_exact(self) -> None:
        assert self.rows("table") == self.rows("archive") == passed(ALL)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


OTHER = {"table": "archive", "archive": "table"}


@pytest.mark.req("D17")
def test_a_directory_that_becomes_read_only_freezes_its_lane_and_the_lane_recovers_by_itself(world: World) -> None:
    with started(world.whole):
        world.bring(EARLY, "table", "archive")
        with read_only(world.places["archive"]):
            world.bring(MORE, "table")
            wait_until(lambda: world.lane("archive").state is LaneState.FROZEN, "the files are frozen")
            tried = world.lane("archive").attempts
            wait_until(lambda: world.lane("archive").attempts > tried, "they are tried again")
            assert world.whole.status().state is State.RUNNING
            assert "may not be used" in str(world.lane("archive").last_error)
        world.bring(ALL, "table", "archive")
        assert world.lane("archive").rows_dead == 0
        finish(world.whole)
    world.check_exact()


@pytest.mark.req("D17")
@pytest.mark.parametrize("name", ["archive", "table"])
def test_a_place_that_is_read_only_at_the_start_freezes_its_lane_only(world: World, name: str) -> None:
    with started(world.whole):
        world.bring(EARLY, "table", "archive")
        world.whole.drain()
    world.before = EARLY
    with ExitStack() as mounted:
        mounted.enter_context(read_only(world.places[name]))
        with started(world.whole):
            world.bring(MORE, OTHER[name])
            wait_until(lambda: world.lane(name).state is LaneState.FROZEN, f"{name} is frozen")
            assert world.whole.status().state is State.RUNNING
            mounted.close()
            world.bring(ALL, "table", "archive")
            finish(world.whole)
    world.check_exact()


@pytest.mark.req("D17")
def test_a_directory_without_the_right_to_write_waits_for_the_right(tmp_path: Path) -> None:
    """In a process of its own: root gives up the right to write everywhere."""
    command = [sys.executable, "-m", "tests.support.permission_process", str(tmp_path), str(ALL)]
    ended = subprocess.run([*without_override(), *command], capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout.splitlines() == ["frozen", "mended", "drained"], ended.stderr
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(ALL)


def without_override() -> list[str]:
    """What a command is preceded by to have no more rights to files than their modes give."""
    if os.geteuid() != 0:
        return []
    rights = "-dac_override,-dac_read_search"
    return ["setpriv", "--bounding-set", rights, "--inh-caps", rights]
