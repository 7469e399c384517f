"""A SQLite sink is put back to an older copy while the pipeline is stopped: what its own cursor says is believed."""

from __future__ import annotations

import shutil
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import Tap, Watched, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Files, Pipeline, Sqlite
from holdfast.ledger import Route
from holdfast.model.errors import NotRetained

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW, NEWEST = 300, 600, 660


class World:
    """A table, and an archive that is down at first: while it is, the outbox keeps everything."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.table = Watched(Sqlite(directory / "sink.db", table="orders"))
        self.archive = Watched(Files(directory / "files"))
        self.archive.down.set()

    def pipeline(self, events: int) -> Pipeline:
        return (
            Pipeline("orders", directory=self.directory / "pipeline")
            .read(Tap(events, open_to=events))
            .write(impatient("table", self.table), impatient("archive", self.archive, required=False))
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .keep_delivered(0)
        )

    def fill_table(self, events: int) -> None:
        """Run until the table has so many events, and stop."""
        with started(self.pipeline(events)) as whole:
            wait_until(lambda: self.rows() == len(passed(events)), f"the table has {events} events")
            whole.drain(within=0.1)

    def rows(self) -> int:
        return len(table_numbers(self.directory / "sink.db")) if self.table.taken else 0

    def save(self) -> None:
        shutil.copyfile(self.directory / "sink.db", self.directory / "copy.db")

    def restore(self) -> None:
        assert not list(self.directory.glob("sink.db-*")), "a pipeline that has stopped leaves nothing open"
        shutil.copyfile(self.directory / "copy.db", self.directory / "sink.db")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_restored_sink_is_brought_exactly_what_it_lacks(world: World) -> None:
    world.fill_table(OLD)
    world.save()
    has = list(world.table.taken)
    world.fill_table(NEW)
    lacks = world.table.taken[len(has) :]
    world.restore()
    world.table.taken.clear()
    with started(world.pipeline(NEW)) as whole:
        assert whole.status().delivery.lanes["table"].route is Route.SINK_BEHIND
        world.archive.down.clear()
        finish(whole)
    assert world.table.taken == lacks
    assert table_numbers(world.directory / "sink.db") == passed(NEW)
    assert file_numbers(world.directory / "files") == passed(NEW)


class TestThatNeedsWhatIsGone:
    """Every sink had everything, so the outbox has forgotten it: a restored sink cannot be brought what it lacks."""

    @pytest.fixture
    def forgotten(self, world: World) -> World:
        world.archive.down.clear()
        world.fill_table(OLD)
        world.save()
        with started(world.pipeline(NEW)) as whole:
            finish(whole)
        shutil.copyfile(world.directory / "sink.db", world.directory / "newer.db")
        world.restore()
        return world

    def test_is_refused_at_start_and_left_as_it_is(self, forgotten: World) -> None:
        with pytest.raises(NotRetained, match="'table'"):
            forgotten.pipeline(NEWEST).start()
        assert table_numbers(forgotten.directory / "sink.db") == passed(OLD)

    def test_goes_on_once_a_newer_copy_is_there(self, forgotten: World) -> None:
        whole = forgotten.pipeline(NEWEST)
        with pytest.raises(NotRetained):
            whole.start()
        shutil.copyfile(forgotten.directory / "newer.db", forgotten.directory / "sink.db")
        with started(whole):
            finish(whole)
        assert table_numbers(forgotten.directory / "sink.db") == passed(NEWEST)
