"""Delivery into real sinks over real logs: a table and a directory after a crash at every step of the sink."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from math import nan
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.model.steps import Step
from holdfast.sinks import Files, Format, Sqlite
from tests.support.deliver_faults import Crash, Dying
from tests.support.deliver_real import RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually, spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BATCHES = 4
BAD = "2-1"
ALL_ROWS = [f"{oseq}-{at}" for oseq in range(1, BATCHES + 1) for at in range(3)]
STEPS = [
    Step.SINK_WRITE,
    Step.SINK_COMMIT,
    Step.SINK_COMMITTED,
    Step.DEAD_LETTER_WRITE,
    Step.DEAD_LETTER_WRITTEN,
    Step.CURSOR_WRITE,
    Step.CURSOR_WRITTEN,
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path)
    yield world
    world.close()


def batch(oseq: int) -> pa.Table:
    """SQLite has no NaN, so it refuses the row that has one."""
    ids = [f"{oseq}-{at}" for at in range(3)]
    return pa.table({"id": ids, "value": [nan if row == BAD else 1.5 for row in ids]})


def run(world: RealWorld, hook: Dying) -> None:
    life = world.life(
        spec("table", Sqlite(world.directory / "sink.db", table="rows")),
        spec("files", Files(world.directory / "files", format=Format.JSONL), max_inflight=3),
        hook=hook,
    )
    try:
        life.delivery.start()
        while (last := life.outbox.last_oseq()) < BATCHES:
            life.delivery.published(publish(life.outbox, batch(last + 1)))
        eventually(life.delivery, lambda status: hook.died or all_on_disk(status))
        if not hook.died:
            life.delivery.drain(60)
    except Crash:
        assert hook.died
    finally:
        life.end()


def in_table(world: RealWorld) -> list[str]:
    with closing(sqlite3.connect(world.directory / "sink.db")) as db:
        return [row[0] for row in db.execute("SELECT id FROM rows ORDER BY rowid")]


def in_files(world: RealWorld) -> list[str]:
    files = [path for path in (world.directory / "files").rglob("*.jsonl") if not path.name.startswith(".")]
    return sorted(json.loads(line)["id"] for path in files for line in path.read_text().splitlines())


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("occurrence", [1, 2, 3])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_leaves_every_row_once_in_a_table_and_in_files(world: RealWorld, step: Step, occurrence: int) -> None:
    run(world, Dying(step, occurrence))
    run(world, Dying())
    assert in_table(world) == [row for row in ALL_ROWS if row != BAD]
    assert in_files(world) == ALL_ROWS
    assert [(entry.stage, entry.oseq, entry.ordinal) for entry in world.life().dead.entries()] == [("sink:table", 2, 1)]
