"""Sources are acknowledged what is committed and synced; one that fails or hangs holds up nothing else."""

from __future__ import annotations

from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING

from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import Tap, impatient, started, wait_until
from tests.support.local_pipelines import passed

from holdfast import BatchLimits, Pipeline, Sqlite
from holdfast.model.errors import LogUnavailable
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from holdfast.runtime.lifecycle import State

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.model.positions import Position

FIRST, ALL = 66, 132
"""Orders up to the end of a transaction."""


class Refusing(Tap):
    """Orders whose source does not take an acknowledgement while it is down, or hangs in it."""

    def __init__(self, name: str = "orders") -> None:
        super().__init__(ALL, open_to=FIRST, name=name)
        self.down = Event()
        self.hanging = Event()
        self.released = Event()
        self.asked = 0

    def acknowledge(self, position: Position) -> None:
        self.asked += 1
        if self.down.is_set():
            raise ConnectionError("the replication slot is gone")
        if self.hanging.is_set():
            self.released.wait(60)
        super().acknowledge(position)


def pipeline(directory: Path, *sources: Tap) -> Pipeline:
    whole = Pipeline("orders", directory=directory / "pipeline")
    for source in sources:
        whole = whole.read(source)
    table = impatient("table", Sqlite(directory / "sink.db", table="orders"))
    return whole.write(table).batch(BatchLimits(max_events=60, max_wait=timedelta(0)))


def has_delivered(whole: Pipeline, events: int) -> bool:
    """Whether so many events of all sources are in every sink, and that is on disk."""
    newest, status = whole.engine.ground.outbox.newest(), whole.status().delivery
    if newest is None or sum(newest.ends.values()) < events:
        return False
    return status.is_durable and status.committed == newest.oseq


def test_a_source_that_refuses_acknowledgements_is_told_the_newest_position_when_it_is_back(tmp_path: Path) -> None:
    source, other = Refusing("orders"), Tap(ALL, open_to=FIRST, name="returns")
    source.down.set()
    with started(pipeline(tmp_path, source, other)) as whole:
        wait_until(lambda: source.asked >= 2, "the acknowledgement is tried again")
        wait_until(lambda: Seq(FIRST) in other.told, "the other source is acknowledged")
        failing = whole.status().acknowledgements["orders"]
        assert (failing.position, failing.attempts >= 2) == (None, True)
        assert failing.error == "ConnectionError: the replication slot is gone"
        assert failing.failing_since is not None
        source.open_to = other.open_to = ALL
        wait_until(lambda: has_delivered(whole, 2 * ALL), "everything is delivered meanwhile")
        assert whole.engine.state is State.RUNNING
        source.down.clear()
        wait_until(lambda: Seq(ALL) in source.told, "the source is acknowledged the newest position")
        assert source.told == [Seq(ALL)]
        wait_until(lambda: whole.status().acknowledgements["orders"].error is None, "the status says so")
        assert whole.status().acknowledgements["orders"].position == Seq(ALL)
        whole.drain()
    assert sorted(table_numbers(tmp_path / "sink.db")) == sorted(2 * passed(ALL))


def test_a_source_that_hangs_in_an_acknowledgement_holds_up_nothing_and_is_left_behind_by_a_stop(
    tmp_path: Path,
) -> None:
    source, other = Refusing("orders"), Tap(ALL, open_to=FIRST, name="returns")
    source.hanging.set()
    with started(pipeline(tmp_path, source, other)) as whole:
        wait_until(lambda: source.asked == 1, "it hangs in its first acknowledgement")
        source.open_to = other.open_to = ALL
        wait_until(lambda: Seq(ALL) in other.told, "the other source is acknowledged everything")
        wait_until(lambda: has_delivered(whole, 2 * ALL), "everything is delivered")
        whole.pause()
        wait_until(lambda: whole.engine._keeper._admits is False, "the other duties of the loop are done")
        whole.stop()
    source.released.set()
    assert sorted(table_numbers(tmp_path / "sink.db")) == sorted(2 * passed(ALL))


def test_no_source_is_acknowledged_before_the_checkpoint_of_spark_is_synced(tmp_path: Path) -> None:
    source, unsynced = Refusing(), Event()
    unsynced.set()

    def no_sync(step: str) -> None:
        if step == Step.SPARK_COMMIT_FSYNC and unsynced.is_set():
            raise LogUnavailable("The checkpoint cannot be synced.", remedy="It is tried again.")

    with started(pipeline(tmp_path, source), hook=no_sync) as whole:
        wait_until(lambda: has_delivered(whole, FIRST), "everything is delivered and committed")
        rounds = whole.engine.ground.outbox.last_oseq()
        source.open_to = ALL
        wait_until(lambda: has_delivered(whole, ALL), "the next orders are, too")
        assert whole.engine.ground.outbox.last_oseq() > rounds
        assert (source.asked, source.told) == (0, [])
        unsynced.clear()
        wait_until(lambda: Seq(ALL) in source.told, "the source is acknowledged once it is synced")
