"""Room is short, by a quota or by the disk: what is only kept goes before capture is refused, and nothing stands still.

The disks are real and small. The pipelines run without a JVM; the events carry text, so that they are large.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_disks import Ballast
from tests.support.engine_pipelines import Tap, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed
from tests.support.mounts import small_disk

from holdfast import BatchLimits, Budget, Files, Pipeline, Quotas, Sqlite, State
from holdfast.capture import Generator

MIB = 2**20
TEXT = 4000


class Wide(Tap):
    """Orders with much text, in transactions of a size, that come as far as the tap is open."""

    def __init__(self, events: int, transaction: int, *, open_to: int = 0, chunk: int = 500) -> None:
        Generator.__init__(self, events=events, transactions=(transaction,), chunk=chunk, padding=TEXT)
        self.open_to = open_to
        self.told = []


class World:
    """Wide orders into a table and files that lie on a large disk; the pipeline's own directory is the small one."""

    def __init__(self, directory: Path, source: Wide, events: int) -> None:
        self.directory, self.source, self.events = directory, source, events
        self.root = directory / "pipeline"
        self.whole = (
            Pipeline("orders", directory=self.root)
            .read(source)
            .write(
                impatient("table", Sqlite(directory / "sink.db", table="orders")),
                impatient("archive", Files(directory / "files"), max_inflight=2),
            )
            .batch(BatchLimits(max_events=2000, max_wait=timedelta(0)))
            .restarts(Budget())
        )

    def bring(self, events: int) -> None:
        self.source.open_to = events
        wait_until(lambda: self.have(events), f"both sinks have {events} events")

    def have(self, events: int) -> bool:
        newest = self.whole.engine.ground.outbox.newest()
        return newest is not None and sum(newest.ends.values()) >= events and self.whole.engine.delivery.is_caught_up()

    def held(self) -> int:
        """Bytes of segments on disk, whatever the index says of them."""
        return sum(path.stat().st_size for path in (self.root / "inbox" / "orders" / "segments").iterdir())

    def check_exact(self) -> None:
        assert table_numbers(self.directory / "sink.db") == passed(self.events)
        assert file_numbers(self.directory / "files") == passed(self.events)


@pytest.mark.req("D1", "X5")
def test_more_than_the_disk_has_goes_through_when_only_what_is_needed_is_kept(tmp_path: Path) -> None:
    """No quota is near: what older batches were made of has to go because the disk is short."""
    world = World(tmp_path, Wide(30_000, 7, open_to=30_000), 30_000)
    with small_disk(world.root, "48M"), started(world.whole):
        finish(world.whole, within=120)
    world.check_exact()


@pytest.mark.req("D1", "X5")
def test_large_transactions_go_through_with_the_quotas_that_the_alarms_page_advises(tmp_path: Path) -> None:
    """Both quotas are below what the disk has; a transaction is nearly as large as a quota, and comes at once."""
    world = World(tmp_path, Wide(40_000, 5_000, open_to=40_000, chunk=5_000), 40_000)
    world.whole = world.whole.quotas(Quotas(inbox=24 * MIB, outbox=24 * MIB))
    with small_disk(world.root, "56M"), started(world.whole):
        finish(world.whole, within=120)
    world.check_exact()


@pytest.mark.req("D1", "X5")
def test_a_disk_that_others_filled_to_the_last_byte_is_freed_of_what_nobody_needs(tmp_path: Path) -> None:
    """Nothing is removed by hand. Forgetting needs commits, and these need room that is not there."""
    world = World(tmp_path, Wide(6_000, 7), 6_000)
    with small_disk(world.root, "48M") as disk, started(world.whole):
        world.bring(2_506)
        assert world.held() > 8 * MIB, "the inbox keeps what older batches were made of"
        Ballast(disk)
        world.source.open_to = world.events
        finish(world.whole)
        assert world.whole.engine.state is State.STOPPED
    world.check_exact()
