"""Checkpoints with a remote copy: the local store is lost, the copy is older than the sinks, or cannot be reached."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.checkpoint_stores import fresh_schema, lose_local_store, s3_remote, with_checkpoints
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import Tap, started, wait_until
from tests.support.local_pipelines import check_exact, passed, run, running

from holdfast import Accept, Generator, SinkSpec, Until
from holdfast.checkpoint import CURSORS, FileStore, Health, RecoveryPath
from holdfast.control.health import Alarm
from holdfast.control.observer import Observer
from holdfast.control.status import status_of
from holdfast.deliver import Sink, Tier
from holdfast.model.errors import CheckpointsMissing, LogMissing, PipelineDiverged, StoreUnavailable
from holdfast.model.steps import RollbackStep
from holdfast.runtime.checkpoints.opening import open_replicated
from holdfast.runtime.layout import Layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers

    from holdfast import Pipeline
    from holdfast.deliver import LaneIdentity, SinkBatch
    from holdfast.ledger import Cursors
    from holdfast.runtime.plan import Plan

EVENTS = 550
"""Whole transactions."""


def orders(events: int) -> Generator:
    return Generator("orders", events=events, transactions=(3, 7, 1), chunk=60)


@pytest.fixture(params=["file", "postgres", "s3"])
def remote(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> dict[str, str]:
    """The block `remote` of each kind."""
    match request.param:
        case "postgres":
            return {"type": "postgres", "dsn": fresh_schema(servers)}
        case "s3":
            return s3_remote(servers.fresh_bucket())
        case _:
            return on_another_disk(tmp_path)


def on_another_disk(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "backup").mkdir()
    return {"type": "file", "directory": str(tmp_path / "backup")}


def block(remote: dict[str, str], *, store: str = "sqlite", every: str = "1h") -> dict[str, object]:
    """By default nothing is copied before the end of the run, so tests decide what the copy has."""
    return {"store": store, "remote": remote, "replicate_every": every}


@contextmanager
def observed(whole: Pipeline) -> Iterator[Observer]:
    """Somebody looks at a pipeline that runs."""
    observer = Observer(whole.engine, interval=0.2)
    observer.start()
    try:
        yield observer
    finally:
        observer.close()


def is_copied(whole: Pipeline) -> bool:
    """Whether the remote store has every commit."""
    copy = whole.engine.ground.checkpoints.replication()
    return copy is not None and copy.health is Health.OK and copy.keys_behind == 0 and copy.last_success is not None


def copied_cursors(remote: dict[str, str]) -> Cursors:
    with FileStore(remote["directory"]) as store:
        cursors = store.get(CURSORS)
    assert cursors is not None
    return cursors


# The local store is lost


@pytest.mark.req("K3")
@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_a_lost_local_store_is_recovered_from_the_remote_one(
    tmp_path: Path, remote: dict[str, str], store: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote, store=store)))
    lose_local_store(tmp_path)
    with caplog.at_level(logging.WARNING, "holdfast"):
        whole = with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote, store=store))
        with running(whole):
            assert whole.engine.ground.checkpoints.recovery is RecoveryPath.REMOTE
            assert whole.wait(until=Until.CAUGHT_UP, timeout=60), whole.status()
            whole.drain()
    assert f"recovered from the remote {remote['type']} store" in caplog.text
    check_exact(tmp_path, 2 * EVENTS)
    again = with_checkpoints(tmp_path, orders(3 * EVENTS), block(remote, store=store))
    with running(again):
        assert again.engine.ground.checkpoints.recovery is RecoveryPath.LOCAL
        assert again.wait(until=Until.CAUGHT_UP, timeout=60), again.status()
        again.drain()
    check_exact(tmp_path, 3 * EVENTS)


def test_where_the_checkpoints_came_from_is_in_the_status(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    lose_local_store(tmp_path)
    with running(with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote))) as whole, observed(whole) as observer:
        seen = observer.pictures()[-1].checkpoint
    assert (seen.store, seen.recovery) == ("sqlite", "remote")
    assert seen.remote is not None


@pytest.mark.req("D1", "X5")
def test_a_copy_that_is_older_than_the_sinks_doubles_and_loses_nothing(tmp_path: Path) -> None:
    """The sinks of the test keep cursors: theirs win over the older ones of the copy."""
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    had = copied_cursors(remote)
    die_after(tmp_path, rows=len(passed(EVENTS)) + 300, remote=remote)
    assert copied_cursors(remote) == had, "the copy is older than the sinks"
    assert len(table_numbers(tmp_path / "sink.db")) > len(passed(EVENTS))
    lose_local_store(tmp_path)
    run(with_checkpoints(tmp_path, orders(4400), block(remote)))
    check_exact(tmp_path, 4400)


def die_after(directory: Path, *, rows: int, remote: dict[str, str]) -> None:
    """Run a process until the table has so many rows, and kill it."""
    arguments = [str(directory), "4400", "refuse", json.dumps(block(remote))]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.local_process", *arguments], stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: len(table_numbers(directory / "sink.db")) >= rows, f"{rows} rows in the table")
    finally:
        process.kill()
        process.wait()


class Forgetful(Sink):
    """A sink without a cursor: it appends the number of every batch to a file, and those of its rows."""

    kind = "forgetful"
    tier = Tier.AT_LEAST_ONCE

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, identity: LaneIdentity) -> None:
        pass

    def cursor(self) -> None:
        return None

    def probe(self, batch: SinkBatch) -> None:
        pass

    def deliver(self, batch: SinkBatch) -> None:
        numbers = batch.rows.column("n").to_pylist() if "n" in batch.rows.column_names else []
        with self._path.open("a") as file:
            file.write(json.dumps({"oseq": batch.oseq, "n": numbers}) + "\n")

    def close(self) -> None:
        pass

    @staticmethod
    def read(path: Path) -> list[tuple[int, list[int]]]:
        return [(line["oseq"], line["n"]) for line in map(json.loads, path.read_text().splitlines())]


def test_a_sink_without_a_cursor_gets_again_what_the_copy_does_not_know_and_nothing_else(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)

    def whole(events: int) -> Pipeline:
        sink = SinkSpec(name="forgetful", sink=Forgetful(tmp_path / "taken"))
        return with_checkpoints(tmp_path, orders(events), block(remote)).write(sink)

    run(whole(EVENTS))
    known = copied_cursors(remote).delivered["forgetful"]
    backup = tmp_path / "older"
    shutil.copytree(remote["directory"], backup)
    run(whole(2 * EVENTS))
    before = Forgetful.read(tmp_path / "taken")
    shutil.rmtree(remote["directory"])
    backup.rename(remote["directory"])
    lose_local_store(tmp_path)
    raise_epoch(remote)
    run(whole(3 * EVENTS))
    taken = Forgetful.read(tmp_path / "taken")
    repeated = [oseq for oseq, _ in taken if oseq <= before[-1][0]]
    assert repeated == [*range(1, before[-1][0] + 1), *range(known + 1, before[-1][0] + 1)]
    assert list(dict.fromkeys(n for _, ns in taken for n in ns)) == passed(3 * EVENTS)
    check_exact(tmp_path, 3 * EVENTS)


def raise_epoch(remote: dict[str, str]) -> None:
    """What the owner after an older copy did at its start: the logs know it, and so must the copy."""
    with FileStore(remote["directory"]) as store:
        store.take_over()


def test_a_copy_from_before_a_new_generation_is_refused(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    shutil.copytree(remote["directory"], tmp_path / "older")
    shutil.rmtree(tmp_path / "pipeline" / "spark")
    run(with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote)), accept=Accept.NEW_GENERATION)
    shutil.rmtree(remote["directory"])
    (tmp_path / "older").rename(remote["directory"])
    raise_epoch(remote)
    lose_local_store(tmp_path)
    with pytest.raises(PipelineDiverged, match="checkpoints are of generation 1, and the outbox is in generation 2"):
        with_checkpoints(tmp_path, orders(3 * EVENTS), block(remote)).start()
    check_exact(tmp_path, 2 * EVENTS)


def test_a_copy_from_the_middle_of_a_rollback_does_not_roll_back_again(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)

    def whole(events: int) -> Pipeline:
        return with_checkpoints(tmp_path, orders(events), block(remote))

    run(whole(EVENTS))
    with pytest.raises(CutShort):
        whole(EVENTS).rollbacks(hook=cut_before_the_switch).go_back("2", by="a test")
    copy_now(whole(EVENTS).plan())
    shutil.copytree(remote["directory"], tmp_path / "older")
    run(whole(2 * EVENTS))  # which carries the rollback out
    table, files = table_numbers(tmp_path / "sink.db"), file_numbers(tmp_path / "files")
    shutil.rmtree(remote["directory"])
    (tmp_path / "older").rename(remote["directory"])
    raise_epoch(remote)
    lose_local_store(tmp_path)
    with pytest.raises(PipelineDiverged, match="from before a rollback"):
        whole(3 * EVENTS).start()
    assert (table_numbers(tmp_path / "sink.db"), file_numbers(tmp_path / "files")) == (table, files)


class CutShort(Exception):
    """The process would have ended here."""


def cut_before_the_switch(step: object) -> None:
    if step is RollbackStep.SWITCH:
        raise CutShort


def copy_now(plan: Plan) -> None:
    """Let the remote store have what the local one has now."""
    assert plan.checkpoint.remote is not None
    with open_replicated(plan, Layout(plan.directory), plan.checkpoint.remote) as store:
        store.take_over()
        assert store.flush(timedelta(seconds=30)).keys_behind == 0


def test_a_sink_without_a_cursor_stops_when_what_the_copy_does_not_know_is_gone(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)

    def whole(events: int) -> Pipeline:
        sink = SinkSpec(name="forgetful", sink=Forgetful(tmp_path / "taken"), required=False)
        return with_checkpoints(tmp_path, orders(events), block(remote)).write(sink).keep_delivered(0)

    run(whole(EVENTS))
    shutil.copytree(remote["directory"], tmp_path / "older")
    run(whole(2 * EVENTS))
    taken = (tmp_path / "taken").read_text()
    shutil.rmtree(remote["directory"])
    (tmp_path / "older").rename(remote["directory"])
    raise_epoch(remote)
    lose_local_store(tmp_path)
    with running(whole(3 * EVENTS)) as again:
        wait_until(lambda: len(table_numbers(tmp_path / "sink.db")) == len(passed(3 * EVENTS)), "the others go on")
        assert "no longer kept" in str(again.status().delivery.lanes["forgetful"].stopped)
    assert (tmp_path / "taken").read_text() == taken
    check_exact(tmp_path, 3 * EVENTS)


# Nothing to recover from


@pytest.mark.req("K3", "X19")
def test_an_empty_local_store_never_starts_afresh_while_the_remote_one_is_away(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    lose_local_store(tmp_path)
    shutil.move(remote["directory"], tmp_path / "unmounted")
    with pytest.raises(StoreUnavailable, match="may say where every sink stands, cannot be read"):
        with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote)).start()
    check_exact(tmp_path, EVENTS)
    shutil.move(tmp_path / "unmounted", remote["directory"])
    run(with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote)))
    check_exact(tmp_path, 2 * EVENTS)


def test_a_first_start_is_refused_while_the_remote_store_is_away(tmp_path: Path) -> None:
    remote = {"type": "file", "directory": str(tmp_path / "not-mounted")}
    with pytest.raises(StoreUnavailable, match="does not exist"):
        with_checkpoints(tmp_path, orders(EVENTS), block(remote)).start()
    assert not (tmp_path / "pipeline" / "outbox").exists()


def test_both_stores_empty_are_refused_when_batches_were_published(tmp_path: Path) -> None:
    run(with_checkpoints(tmp_path, orders(EVENTS), block(on_another_disk(tmp_path))))
    lose_local_store(tmp_path)
    (tmp_path / "other").mkdir()
    with pytest.raises(CheckpointsMissing, match="and its remote copy hold nothing of pipeline 'orders'"):
        with_checkpoints(
            tmp_path, orders(EVENTS), block({"type": "file", "directory": str(tmp_path / "other")})
        ).start()
    check_exact(tmp_path, EVENTS)


def test_a_copy_of_another_pipeline_is_refused_and_its_owner_goes_on(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    tap = Tap(2 * EVENTS, open_to=EVENTS)
    with started(with_checkpoints(tmp_path / "one", tap, block(remote, every="100ms"))) as first:
        wait_until(lambda: is_copied(first), "the copy is made")
        with pytest.raises(LogMissing, match="there is none in"):
            with_checkpoints(tmp_path / "two", orders(EVENTS), block(remote)).start()
        tap.open_to = 2 * EVENTS
        assert first.wait(until=Until.CAUGHT_UP, timeout=60), first.status()
        first.drain()
    check_exact(tmp_path / "one", 2 * EVENTS)


# The remote store is away while the local one is there


def test_a_remote_store_that_is_away_delays_no_start_and_is_told_and_caught_up_with(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    shutil.move(remote["directory"], tmp_path / "unmounted")
    tap = Tap(2 * EVENTS, open_to=2 * EVENTS)
    whole = with_checkpoints(tmp_path, tap, block(remote, every="100ms"))
    with started(whole), observed(whole) as observer:
        assert whole.engine.ground.checkpoints.recovery is RecoveryPath.LOCAL
        findings = status_of(observer.pictures()).health.findings
        (told,) = [finding for finding in findings if finding.alarm is Alarm.CHECKPOINT_COPY_LATE]
        assert "does not exist" in told.cause
        shutil.move(tmp_path / "unmounted", remote["directory"])
        assert whole.wait(until=Until.CAUGHT_UP, timeout=60), whole.status()
        wait_until(lambda: is_copied(whole), "the copy has caught up")
        whole.drain()
    lose_local_store(tmp_path)
    run(with_checkpoints(tmp_path, orders(3 * EVENTS), block(remote)))
    check_exact(tmp_path, 3 * EVENTS)


def test_a_remote_store_can_be_added_to_a_pipeline_that_ran_without_one(tmp_path: Path) -> None:
    run(with_checkpoints(tmp_path, orders(EVENTS), {}))
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote)))
    lose_local_store(tmp_path)
    run(with_checkpoints(tmp_path, orders(3 * EVENTS), block(remote)))
    check_exact(tmp_path, 3 * EVENTS)


@pytest.mark.req("K3")
def test_damaged_local_checkpoints_are_recovered_from_the_remote_ones(tmp_path: Path) -> None:
    remote = on_another_disk(tmp_path)
    run(with_checkpoints(tmp_path, orders(EVENTS), block(remote)))
    with sqlite3.connect(Layout(tmp_path / "pipeline").checkpoints) as db:
        db.execute("UPDATE holdfast_versions SET payload = x'00' WHERE key = 'cursors'")
    db.close()
    whole = with_checkpoints(tmp_path, orders(2 * EVENTS), block(remote))
    with running(whole):
        assert whole.engine.ground.checkpoints.recovery is RecoveryPath.REMOTE
        assert whole.wait(until=Until.CAUGHT_UP, timeout=60), whole.status()
        whole.drain()
    check_exact(tmp_path, 2 * EVENTS)
