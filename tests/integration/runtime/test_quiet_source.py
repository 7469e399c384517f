"""A source that has been quiet for long, so that its inbox has forgotten all it had, while another one goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.engine_pipelines import Tap, Watched, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Pipeline, Quotas, Sqlite
from holdfast.model.positions import Seq
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

FEW, MORE = 55, 99
"""Both end with a transaction."""


class World:
    """Two sources with small inboxes, and something that happens while a batch of the busy one is computed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.quiet = Tap(MORE, name="quiet")
        self.busy = Tap(MORE, name="busy")
        self.sink = Watched(Sqlite(directory / "sink.db", table="orders"))
        self.meanwhile: Callable[[], None] = lambda: None
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.quiet, self.busy)
            .write(impatient("table", self.sink))
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
            .quotas(Quotas(inbox=8000))
        )

    def compute(self, events: pa.Table) -> pa.Table:
        if events["source"][0].as_py() == "busy":
            self.meanwhile()
        return orders(events)

    def let_the_quiet_one_be_forgotten(self) -> None:
        self.quiet.open_to = FEW
        inbox = self.whole.engine.ground.inboxes["quiet"]
        wait_until(lambda: inbox.retained().first_seq == FEW + 1, "the inbox of the quiet source is empty")

    def let_the_quiet_one_speak(self) -> None:
        self.quiet.open_to = MORE
        inbox = self.whole.engine.ground.inboxes["quiet"]
        wait_until(lambda: inbox.end() > FEW, "the quiet source has said something")

    def is_busy_one_published(self) -> bool:
        newest, inbox = self.whole.engine.ground.outbox.newest(), self.whole.engine.ground.inboxes["busy"]
        return newest is not None and newest.ends[inbox.uuid] == MORE

    def numbers(self, source: str) -> list[int]:
        with closing(sqlite3.connect(self.directory / "sink.db")) as db:
            rows = db.execute("SELECT n FROM orders WHERE source = ? ORDER BY rowid", (source,)).fetchall()
        return [n for (n,) in rows]


@pytest.mark.req("D1")
def test_it_may_speak_again_while_a_batch_of_another_source_is_computed(tmp_path: Path) -> None:
    world = World(tmp_path)
    with started(world.whole, processor=lambda: LocalProcessor(world.compute)):
        world.let_the_quiet_one_be_forgotten()
        world.meanwhile = world.let_the_quiet_one_speak
        world.busy.open_to = MORE
        finish(world.whole)
    assert world.whole.status().spark.restarts == 0
    assert {name: world.numbers(name) for name in ("quiet", "busy")} == dict.fromkeys(("quiet", "busy"), passed(MORE))


@pytest.mark.req("X3")
def test_it_is_told_how_far_it_is_safe_although_it_is_in_no_newer_batch(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.sink.down.set()
    with started(world.whole, processor=lambda: LocalProcessor(world.compute)):
        world.let_the_quiet_one_be_forgotten()
        world.busy.open_to = MORE
        wait_until(world.is_busy_one_published, "the busy source is in newer batches")
        world.sink.down.clear()
        wait_until(lambda: Seq(FEW) in world.quiet.told, "the quiet source is told its end")
