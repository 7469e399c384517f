"""Delivery over the real outbox, dead letters and checkpoint store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.deliver import BreakerPolicy, RetryPolicy, SinkSpec, SystemClock
from holdfast.log import entry_id
from holdfast.model.positions import Lsn
from holdfast.model.steps import Step
from holdfast.testing import ConcurrentSink, RecordingSink, Vault
from tests.support.deliver_faults import Crash, Dying, Errors, transient
from tests.support.deliver_real import Life, RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually, rows, spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BATCHES = 4
ALL_ROWS = [f"{oseq}-{at}" for oseq in range(1, BATCHES + 1) for at in range(3)]
BAD = {"2-1"}

STEPS = [
    Step.DELIVER_READ,
    Step.SINK_WRITE,
    Step.SINK_COMMIT,
    Step.SINK_COMMITTED,
    Step.DEAD_LETTER_WRITE,
    Step.DEAD_LETTER_FSYNC,
    Step.DEAD_LETTER_INDEX,
    Step.DEAD_LETTER_WRITTEN,
    Step.CURSOR_WRITE,
    Step.CURSOR_WRITTEN,
    Step.OUTBOX_TRIM,
    Step.OUTBOX_TRIMMED,
    Step.OUTBOX_REMOVED,
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path)
    yield world
    world.close()


def feed(life: Life) -> None:
    while (last := life.outbox.last_oseq()) < BATCHES:
        life.delivery.published(publish(life.outbox, rows(last + 1)))


def run(world: RealWorld, once: Vault, named: Vault, hook: Dying) -> None:
    """A life to its end, or to its death."""
    life = world.life(
        spec("once", RecordingSink(once, refuses=lambda row: row["id"] in BAD)),
        spec("named", ConcurrentSink(named), max_inflight=3),
        hook=hook,
    )
    try:
        life.delivery.start()
        feed(life)
        eventually(life.delivery, lambda status: hook.died or all_on_disk(status))
        if not hook.died:
            life.delivery.drain(60)
    except Crash:
        assert hook.died
    finally:
        life.end()


def test_rows_come_out_as_they_went_in_and_batches_are_forgotten(world: RealWorld) -> None:
    vault = Vault()
    life = world.life(spec("a", RecordingSink(vault)))
    life.delivery.start()
    table = pa.table({"id": ["x", "y"], "amount": pa.array([1, 2], pa.decimal128(10, 2))})
    life.delivery.published(publish(life.outbox, table))
    eventually(life.delivery, all_on_disk)
    assert [dict(row) for _, _, row in vault.rows] == table.to_pylist()
    eventually(life.delivery, lambda _: life.outbox.trimmed() == 1)
    assert list(life.outbox.parts_directory.iterdir()) == []


def test_a_dead_letter_can_be_read_back_with_its_row(world: RealWorld) -> None:
    life = world.life(spec("a", RecordingSink(refuses=lambda row: row["id"] in BAD)))
    life.delivery.start()
    feed(life)
    eventually(life.delivery, all_on_disk)
    (entry,) = life.dead.entries()
    assert entry.entry_id == entry_id("sink:a", 2, 1)
    assert pa.ipc.open_stream(entry.payload).read_all().to_pylist() == [{"id": "2-1"}]


@pytest.mark.req("M19")
def test_the_clock_of_the_machine_wakes_a_retry_and_a_frozen_lane(world: RealWorld) -> None:
    world.clock = SystemClock()  # type: ignore[assignment]
    sink = RecordingSink(before=Errors(*[transient()] * 4))
    quick = RetryPolicy(base=0.001, cap=0.002, attempts=2)
    life = world.life(SinkSpec("a", sink, retry=quick, breaker=BreakerPolicy(cool_down=0.01)))
    life.delivery.start()
    feed(life)
    assert life.delivery.wait_until(all_on_disk, seconds=20)
    assert sink.vault.batches == [1, 2, 3, 4]
    life.delivery.drain(20)


@pytest.mark.req("D3", "X11")
def test_a_second_process_over_the_directory_fences_the_first(world: RealWorld) -> None:
    vault = Vault()
    old = world.life(spec("a", RecordingSink(vault)))
    old.delivery.start()
    new = world.life(spec("a", RecordingSink(vault)))
    new.delivery.start()
    feed(new)
    eventually(new.delivery, all_on_disk)
    before = world.cursors()
    old.delivery.stop()
    assert old.delivery.status().phase.value == "fenced"
    assert world.cursors() == before
    assert vault.batches == [1, 2, 3, 4]


@pytest.mark.req("D1", "X5", "M20")
@pytest.mark.parametrize("occurrence", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_a_step_of_the_real_logs_loses_and_doubles_nothing(
    world: RealWorld, step: Step, occurrence: int
) -> None:
    once, named, dying = Vault(), Vault(), Dying(step, occurrence)
    run(world, once, named, dying)
    run(world, once, named, Dying())
    assert dying.died or occurrence > 1
    dead = [(entry.oseq, entry.ordinal) for entry in world.life().dead.entries()]
    assert (once.values("id"), dead) == ([row for row in ALL_ROWS if row not in BAD], [(2, 1)])
    assert Counter(named.values("id")) == Counter(ALL_ROWS)
    cursors = world.cursors()
    assert cursors is not None
    assert (dict(cursors.delivered), cursors.committed) == ({"once": BATCHES, "named": BATCHES}, BATCHES)
    assert world.told[-1] == Lsn(BATCHES * 100)
