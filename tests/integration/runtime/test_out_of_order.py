"""Files take four batches at once, slowly and with failures: answers come in any order, and no cursor passes a hole."""

from __future__ import annotations

import time
from datetime import timedelta
from random import Random
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import file_numbers
from tests.support.engine_pipelines import Piecemeal, Watched, finish, impatient, started, stored_cursors
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Files, Pipeline
from holdfast.checkpoint import CURSORS
from holdfast.model.errors import CommitUnknown, Transient
from holdfast.model.steps import Step
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.deliver import SinkBatch

EVENTS = 2000
READ, BATCH = 25, 100
PARTITIONS = BATCH // READ


OVERTAKEN = 2
"""The batch that is held until a later one was taken, however slow the machine is."""


class Unsteady:
    """Seeded latency and failures, before and after the files are there."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._lock = Lock()
        self._is_overtaken = Event()

    def before(self, batch: SinkBatch) -> None:
        if batch.oseq == OVERTAKEN:
            assert self._is_overtaken.wait(30), "no other batch was under way"
        latency, fails = self._drawn()
        time.sleep(latency)
        if fails:
            raise Transient("The disk was busy.", remedy="Try again.")

    def after(self, batch: SinkBatch) -> None:
        if batch.oseq > OVERTAKEN:
            self._is_overtaken.set()
        if self._drawn()[1]:
            raise CommitUnknown("The answer was lost.", remedy="Look.")

    def _drawn(self) -> tuple[float, bool]:
        with self._lock:
            return self._random.uniform(0, 0.08), self._random.random() < 0.2


class World:
    """The pipeline, and a look into its files whenever cursors were stored."""

    def __init__(self, directory: Path, seed: int) -> None:
        unsteady = Unsteady(seed)
        self.directory = directory
        self.sink = Watched(Files(directory / "files"), before=unsteady.before, after=unsteady.after)
        self.holes: list[tuple[int, int]] = []
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(Piecemeal("orders", events=EVENTS, transactions=(3, 7), chunk=READ))
            .write(impatient("archive", self.sink, max_inflight=4))
            .batch(
                BatchLimits(
                    max_events=BATCH,
                    max_wait=timedelta(seconds=5),
                    max_partitions=PARTITIONS,
                    partition_bytes=1,  # every chunk is a partition, as of a batch that is large
                )
            )
        )

    def run(self) -> None:
        with started(self.whole, processor=lambda: LocalProcessor(orders), hook=self.look):
            finish(self.whole, within=40)

    def look(self, step: str, /) -> None:
        if step == Step.CURSOR_WRITTEN and self.whole._engine is not None:
            stored = self.whole.engine.ground.store.get(CURSORS)
            assert stored is not None
            there = self.batches_with_files()
            passed_over = set(range(1, stored.delivered["archive"] + 1)) - there
            self.holes += [(stored.delivered["archive"], oseq) for oseq in passed_over]

    def batches_with_files(self) -> set[int]:
        return {int(path.name.split("-")[-2]) for path in (self.directory / "files").glob("archive-*.parquet")}


@pytest.fixture
def world(tmp_path: Path, request: pytest.FixtureRequest) -> World:
    return World(tmp_path, request.param)


@pytest.mark.req("M2", "D1", "X5")
@pytest.mark.parametrize("world", [1, 2, 3], indirect=True, ids="seed {}".format)
def test_no_stored_cursor_passes_a_hole_and_every_row_is_there_once(world: World) -> None:
    world.run()
    assert world.sink.taken != sorted(world.sink.taken), "no answer came out of order: the test shows nothing"
    assert world.holes == []
    assert file_numbers(world.directory / "files") == passed(EVENTS)


@pytest.mark.parametrize("world", [4], indirect=True)
def test_the_rows_of_four_partitions_are_in_order_in_every_file(world: World) -> None:
    world.run()
    with started(world.whole):
        parts = {len(batch.parts) for batch in world.whole.engine.ground.outbox.remembered()}
    assert parts == {PARTITIONS}
    assert file_numbers(world.directory / "files") == passed(EVENTS)


@pytest.mark.req("M3")
@pytest.mark.parametrize("world", [5], indirect=True)
def test_stored_cursors_never_fall(world: World) -> None:
    world.run()
    delivered = [stored.delivered["archive"] for stored in stored_cursors(world.directory)]
    assert len(set(delivered)) > 2
    assert delivered == sorted(delivered)
