"""Dead letters of a whole pipeline, while it runs and while it does not."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Pipeline, Upsert
from holdfast.capture import generator
from holdfast.checkpoint import CURSORS
from holdfast.control import DeadLetters, Standing, stopped
from holdfast.control.files import status_from_files
from holdfast.deliver import LaneState, Sink, SinkBatch
from holdfast.log import DeadLetterFilter, DeadLetterLimits, EntryState, Fate, dead
from holdfast.model.errors import LogMissing, PipelineBusy, Transient
from holdfast.runtime import keeper
from holdfast.testing import LocalProcessor
from tests.support.engine_disks import Ballast
from tests.support.engine_pipelines import Watched, started, wait_until
from tests.support.mendable import Mendable
from tests.support.mounts import small_disk

ALL = DeadLetterFilter()


def running(world: Mendable) -> AbstractContextManager[Pipeline]:
    return started(world.whole, processor=lambda: LocalProcessor(world.step))


def conserved(world: Mendable) -> bool:
    return all(lane.is_conserved for lane in world.whole.status().delivery.lanes.values())


@pytest.mark.req("K10", "D9")
def test_rows_that_the_table_refused_reach_it_later_and_the_files_see_nothing_of_it(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 300, refused="NEW.n % 7 = 0")
    with running(world):
        world.bring(300)
        good = [n for n in range(1, 301) if n % 7]
        bad = [n for n in range(1, 301) if not n % 7]
        assert (world.table(), world.files()) == (good, list(range(1, 301)))
        assert sum(world.letters.count().values()) == len(bad)
        world.mend_table()
        for _ in range(2):
            world.letters.reprocess(ALL)
            wait_until(world.is_delivered, "everything is delivered")
        assert world.table() == [*good, *bad]
        assert world.files() == list(range(1, 301)), "none twice"
        assert (world.letters.list(), conserved(world)) == ([], True)


def test_a_stopped_pipeline_whose_newest_batch_is_redelivered_has_nothing_waiting(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 60, refused="NEW.n = 7")
    with running(world):
        world.bring(60)
        world.mend_table()
        world.letters.reprocess(ALL)
        wait_until(world.is_delivered, "it is delivered")
        published = world.whole.engine.ground.outbox.last_oseq()
        world.whole.drain()
    seen = status_from_files(tmp_path / "pipeline").snapshot
    assert [(source.end, source.waiting) for source in seen.sources] == [(60, 0)]
    assert (seen.outbox.newest, [lane.lag_batches for lane in seen.lanes]) == (published, [0, 0])


@pytest.mark.req("K10")
def test_a_row_that_is_refused_again_is_a_dead_letter_again(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 60, refused="NEW.n = 7")
    with running(world):
        world.bring(60)
        (first,) = world.letters.list()
        world.letters.reprocess(ALL)
        wait_until(lambda: bool(world.letters.list()), "it is refused again")
        (second,) = world.letters.list()
        assert (second.entry_id != first.entry_id, second.event_id) == (True, first.event_id)
        world.mend_table()
        world.letters.reprocess(ALL)
        wait_until(world.is_delivered, "it is delivered")
        assert world.table()[-1] == 7


@pytest.mark.req("K10")
def test_an_event_that_a_step_gave_up_reaches_every_sink_when_it_comes_back(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 300, poison={30, 31, 299})
    with running(world):
        world.bring(300)
        world.give_up([30, 31, 299])
        for _ in range(2):
            world.letters.reprocess(ALL)
            wait_until(world.is_delivered, "everything is delivered")
        expected = [n for n in range(1, 301) if n not in {30, 31, 299}] + [30, 31, 299]
        assert (world.table(), world.files()) == (expected, expected)
        assert world.whole.engine.ground.inboxes["orders"].end() == 303


@pytest.mark.parametrize("stage", ["sink", "step"])
def test_a_table_that_keeps_the_newest_row_of_a_key_ignores_one_that_was_overtaken(
    tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Order 5 and order 25 are about one key, and 290 is the newest of its own."""
    monkeypatch.setattr(generator, "_CUSTOMERS", 20)
    lost = {5, 290}
    given_up, refused = (lost, "false") if stage == "step" else (set[int](), "NEW.n in (5, 290)")
    world = Mendable(tmp_path, 300, poison=given_up, refused=refused, mode=Upsert(["key"]))
    with running(world):
        world.bring(300)
        world.give_up(sorted(given_up))
        assert sorted(world.table()) == [270, *range(281, 290), *range(291, 301)]
        preview = world.letters.preview(ALL)
        assert [(each.listed.event_id, each.standing) for each in preview.candidates] == [
            ("orders/5/0", Standing.OVERTAKEN),
            ("orders/290/0", Standing.NEWEST),
        ]
        world.mend_table()
        world.letters.reprocess(ALL)
        wait_until(world.is_delivered, "everything is delivered")
        assert sorted(world.table()) == list(range(281, 301)), "290 is there, and 5 did not replace anything"


@pytest.mark.req("D1", "X5")
def test_rows_are_redelivered_beside_a_running_spark_and_no_batch_is_left_behind(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 3000, refused="NEW.n % 3 = 0")
    with running(world):
        world.source.open_to = 1000
        wait_until(lambda: world.has_read(600), "it is under way")
        world.mend_table()
        is_over = threading.Event()
        operator = threading.Thread(target=lambda: _reprocess_until(world, is_over))
        operator.start()
        world.source.open_to = 3000
        wait_until(lambda: world.has_read(3000) and world.is_delivered(), "all is delivered")
        is_over.set()
        operator.join(60)
        world.letters.reprocess(ALL)
        wait_until(world.is_delivered, "what was left is delivered")
        assert sorted(world.table()) == world.files() == list(range(1, 3001))
        assert conserved(world)


def _reprocess_until(world: Mendable, is_over: threading.Event) -> None:
    while not is_over.wait(0.005):
        world.letters.reprocess(ALL)


# Bounds


@pytest.mark.req("D13")
def test_a_pipeline_whose_dead_letters_are_full_stands_still_and_goes_on_by_itself(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 300, refused="NEW.n % 7 = 0", limits=DeadLetterLimits(max_entries=5))
    with running(world):
        world.source.open_to = 300
        wait_until(lambda: _lane(world) is LaneState.FROZEN, "the table's lane waits")
        wait_until(lambda: world.files() == list(range(1, 301)), "the files are complete all the same")
        assert world.whole.status().dead_letters.is_full
        assert world.table() == [], "the first batch waits, and all behind it"
        while len(world.table()) < 300 - 300 // 7:
            wait_until(lambda: bool(world.letters.list()) or len(world.table()) == 300 - 300 // 7, "it goes on")
            world.letters.ack(ALL)
        assert world.whole.status().dead_letters.totals[Fate.RECORDED] == 300 // 7
        assert conserved(world)


def _lane(world: Mendable) -> LaneState:
    return world.whole.status().delivery.lanes["table"].state


@pytest.mark.req("D14")
def test_a_running_pipeline_lets_go_what_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "_SWEEP_EVERY", 0.05)
    limits = DeadLetterLimits(max_age=timedelta(seconds=0.5))
    world = Mendable(tmp_path, 60, refused="NEW.n % 7 = 0", limits=limits)
    with running(world):
        world.bring(60)
        wait_until(lambda: world.whole.status().dead_letters.kept == 0, "all are too old")
        assert world.whole.status().dead_letters.totals == {Fate.RECORDED: 8, Fate.EXPIRED: 8}
    assert world.whole.status().dead_letters.kept == 0, "also when it is over, it says so"


def test_a_rejection_is_remembered_while_a_lane_may_bring_its_batch_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The entry is let go and its row forgotten at once, but for the lane, which has yet to deliver the rest."""
    monkeypatch.setattr(keeper, "_SWEEP_EVERY", 0.05)
    monkeypatch.setattr(dead, "GONE_FOR", timedelta(0))
    sweeps = counted_sweeps(monkeypatch)
    sinks: list[Watched] = []

    def wrap(sink: Sink) -> Watched:
        sinks.append(Watched(sink, before=fail_without_the_rejected_row))
        return sinks[0]

    limits = DeadLetterLimits(max_age=timedelta(milliseconds=1))
    world = Mendable(tmp_path, 30, refused="NEW.n = 7", limits=limits, wrap=wrap)
    with running(world):
        world.source.open_to = 30
        wait_until(lambda: world.whole.status().dead_letters.totals.get(Fate.EXPIRED) == 1, "the entry is let go")
        swept = len(sweeps)
        wait_until(lambda: len(sweeps) > swept + 2, "what is gone was swept since")
    sinks[0].before = lambda _: None
    world.mend_table()
    with running(world):
        wait_until(world.is_delivered, "the rest is delivered")
        assert world.table() == [n for n in range(1, 31) if n != 7], "a rejection is a decision"
        assert world.whole.status().dead_letters.totals == {Fate.RECORDED: 1, Fate.EXPIRED: 1}
        assert conserved(world)


def fail_without_the_rejected_row(batch: SinkBatch) -> None:
    if 7 not in batch.rows["n"].to_pylist():
        raise Transient("The table is away.", remedy="Wait.")


def counted_sweeps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What every sweep of dead letters is told."""
    told: list[int] = []
    sweep = dead.DeadLetterLog.sweep

    def counted(self: dead.DeadLetterLog, *, released: int) -> int:
        told.append(released)
        return sweep(self, released=released)

    monkeypatch.setattr(dead.DeadLetterLog, "sweep", counted)
    return told


@pytest.mark.req("X15", "D10")
def test_a_full_disk_under_the_dead_letters_holds_the_lane_and_loses_nothing(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 300, refused="NEW.n % 7 = 0")
    (tmp_path / "pipeline").mkdir()
    with small_disk(tmp_path / "pipeline" / "dead") as disk, running(world):
        world.bring(55)
        ballast = Ballast(disk)
        world.source.open_to = 300
        wait_until(lambda: _lane(world) is LaneState.FROZEN, "the table's lane waits")
        wait_until(lambda: world.files() == list(range(1, 301)), "the files are complete all the same")
        held = world.whole.engine.ground.store.get(CURSORS)
        assert held is not None
        assert held.delivered["table"] < held.delivered["archive"]
        assert len(world.table()) < 120, "no row is passed over"
        ballast.remove()
        wait_until(world.is_delivered, "it goes on by itself")
        assert world.table() == [n for n in range(1, 301) if n % 7]
        assert [found.ordinal for found in world.letters.list(limit=1)] == [6]
        assert sum(world.letters.count().values()) == 300 // 7


# While it does not run


def test_the_dead_letters_of_a_stopped_pipeline_are_seen_to_and_go_on_at_the_next_start(tmp_path: Path) -> None:
    world = Mendable(tmp_path, 300, poison={30}, refused="NEW.n % 7 = 0")
    with running(world):
        world.bring(300)
        world.give_up({30})
        with pytest.raises(PipelineBusy), stopped(tmp_path / "pipeline"):
            pass
        world.whole.drain()
    world.mend_table()
    with stopped(tmp_path / "pipeline") as belongings:
        letters = DeadLetters(belongings)
        assert letters.reprocess(ALL).again == 43
        assert letters.reprocess(DeadLetterFilter(states=set(EntryState))).before == 43
    with running(world):
        wait_until(world.is_delivered, "everything is delivered")
        bad = [n for n in range(1, 301) if not n % 7]
        assert world.table() == [*(n for n in range(1, 301) if n % 7 and n != 30), *bad, 30]
        assert world.files() == [*(n for n in range(1, 301) if n != 30), 30]


def test_a_place_without_a_pipeline_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(LogMissing), stopped(tmp_path / "nothing"):
        pass
    assert not (tmp_path / "nothing").exists()
