"""Pipelines over each checkpoint store that a document can name: killed, fenced, and cut off from their server."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.checkpoint_stores import fresh_schema, lose_local_store, relayed, with_checkpoints
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import Tap, started, wait_until
from tests.support.local_pipelines import check_exact, passed, run

from holdfast import Generator, Until
from holdfast.checkpoint import CURSORS, PostgresStore
from holdfast.control.health import Alarm
from holdfast.control.observer import Observer
from holdfast.control.status import status_of
from holdfast.model.errors import CheckpointsMissing, LogMissing, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.servers import Servers

EVENTS = 4400
HALF = "2200+"
"""Whole transactions, after which the source waits for more: such a process is still there when it is to be killed."""


def orders(events: int) -> Generator:
    return Generator("orders", events=events, transactions=(3, 7, 1), chunk=60)


@pytest.fixture(params=["sqlite", "file", "postgres"])
def store(request: pytest.FixtureRequest, servers: Servers) -> dict[str, object]:
    """The block `spec.checkpoint` for each kind."""
    if request.param == "postgres":
        return {"store": "postgres", "dsn": fresh_schema(servers)}
    return {"store": request.param}


@pytest.fixture
def dsn(servers: Servers) -> str:
    return fresh_schema(servers)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a pipeline process over the same directory."""
    processes: list[subprocess.Popen[str]] = []

    def begin(events: int | str, block: dict[str, object], takeover: str = "refuse") -> subprocess.Popen[str]:
        arguments = [str(tmp_path), str(events), takeover, json.dumps(block)]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.local_process", *arguments], stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def wait_for_rows(directory: Path, at_least: int) -> None:
    def there() -> bool:
        try:
            return len(table_numbers(directory / "sink.db")) >= at_least
        except sqlite3.OperationalError:
            return False  # the table is not there yet

    wait_until(there, f"{at_least} rows in the table")


@pytest.mark.req("D1", "X5")
def test_killed_and_started_again_nothing_is_lost_or_doubled(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], store: dict[str, object]
) -> None:
    for rows in (200, 1000):
        process = start(HALF, store)
        assert line(process) == "started"
        wait_for_rows(tmp_path, rows)
        process.kill()
        process.wait()
    last = start(EVENTS, store)
    assert [line(last), line(last)] == ["started", "ended stopped"]
    check_exact(tmp_path, EVENTS)


def test_a_store_that_is_gone_is_never_replaced_by_an_empty_one(tmp_path: Path, store: dict[str, object]) -> None:
    run(with_checkpoints(tmp_path, orders(500), store))
    if store["store"] == "postgres":
        with PostgresStore(str(store["dsn"]), namespace="orders") as there:
            epoch = there.take_over()
            for key in there.keys():  # noqa: SIM118 (a method of stores)
                there.delete(key, epoch=epoch)
    else:
        lose_local_store(tmp_path)
    with pytest.raises(CheckpointsMissing, match=r"holds nothing of pipeline 'orders', which has published \d+ batch"):
        with_checkpoints(tmp_path, orders(1000), store).start()
    check_exact(tmp_path, 500)


# A store that several processes share


@pytest.mark.req("D3", "X11")
def test_a_process_that_wakes_up_after_a_takeover_changes_nothing_on_the_server(
    tmp_path: Path, start: Callable[..., subprocess.Popen[str]], dsn: str
) -> None:
    store: dict[str, object] = {"store": "postgres", "dsn": dsn}
    first = start(HALF, store)
    assert line(first) == "started"
    wait_for_rows(tmp_path, 100)
    stop_between_commits(first, tmp_path, dsn)
    second = start(EVENTS, store, takeover="fence")
    assert [line(second), line(second)] == ["started", "ended stopped"]
    cursors = cursors_in(dsn)
    os.kill(first.pid, signal.SIGCONT)
    assert line(first).startswith("ended HF-")
    first.wait(30)
    check_exact(tmp_path, EVENTS)
    assert cursors_in(dsn) == cursors


def test_a_pipeline_of_the_same_name_elsewhere_is_refused_and_disturbs_nobody(tmp_path: Path, dsn: str) -> None:
    store: dict[str, object] = {"store": "postgres", "dsn": dsn}
    tap = Tap(550, open_to=110)
    with started(with_checkpoints(tmp_path / "one", tap, store)) as first:
        wait_for_rows(tmp_path / "one", len(passed(110)))
        with pytest.raises(LogMissing, match="there is none in"):
            with_checkpoints(tmp_path / "two", orders(500), store).start()
        tap.open_to = 550
        assert first.wait(until=Until.CAUGHT_UP, timeout=60), first.status()
        first.drain()
    check_exact(tmp_path / "one", 550)


# A server that is gone


def test_a_server_that_is_gone_at_the_start_is_a_typed_error(tmp_path: Path, dsn: str) -> None:
    with relayed(dsn) as (address, relay):
        store: dict[str, object] = {"store": "postgres", "dsn": address}
        relay.go_down()
        with pytest.raises(StoreUnavailable, match="PostgreSQL store 'orders' failed"):
            with_checkpoints(tmp_path, orders(500), store).start()
        relay.come_up()
        run(with_checkpoints(tmp_path, orders(500), store))
    check_exact(tmp_path, 500)


@pytest.mark.req("K11")
def test_a_server_that_is_gone_for_a_while_holds_cursors_back_and_loses_nothing(tmp_path: Path, dsn: str) -> None:
    with relayed(dsn) as (address, relay):
        tap = Tap(1100, open_to=220)
        whole = with_checkpoints(tmp_path, tap, {"store": "postgres", "dsn": address})
        with started(whole):
            wait_for_rows(tmp_path, len(passed(220)))
            wait_until(lambda: committed_in(dsn) == whole.status().delivery.newest, "all cursors are on the server")
            relay.go_down()
            tap.open_to = 660
            wait_until(lambda: whole.status().delivery.trouble is not None, "the outage is told")
            observer = Observer(whole.engine, interval=0.2)
            observer.start()
            try:
                wait_until(lambda: Alarm.CHECKPOINT_AGE in alarms_of(observer), "the alarm")
            finally:
                observer.close()
            assert whole.engine.error is None
            relay.come_up()
            wait_until(lambda: whole.status().delivery.trouble is None, "the cursors are written")
            tap.open_to = 1100
            assert whole.wait(until=Until.CAUGHT_UP, timeout=60), whole.status()
            whole.drain()
    check_exact(tmp_path, 1100)


def alarms_of(observer: Observer) -> set[Alarm | None]:
    return {finding.alarm for finding in status_of(observer.pictures()).health.findings}


def committed_in(dsn: str) -> int:
    with PostgresStore(dsn, namespace="orders") as store:
        cursors = store.get(CURSORS)
    return 0 if cursors is None else cursors.committed


def cursors_in(dsn: str) -> object:
    with PostgresStore(dsn, namespace="orders") as store:
        return store.get(CURSORS)


def stop_between_commits(process: subprocess.Popen[str], directory: Path, dsn: str) -> None:
    """Stop the process where it holds no lock, neither in a file nor on the server."""
    databases = [directory / "sink.db", *(directory / "pipeline").rglob("*.db")]
    for _ in range(200):
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: is_stopped(process.pid), "the process is stopped")
        if not any(is_locked(path) for path in databases) and not has_open_transaction(dsn):
            return
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.01)
    pytest.fail("the process was never stopped between commits")


def is_stopped(pid: int) -> bool:
    threads = [Path(task.path) / "stat" for task in os.scandir(f"/proc/{pid}/task")]
    return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in threads)


def is_locked(path: Path) -> bool:
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    finally:
        db.close()
    return False


def has_open_transaction(dsn: str) -> bool:
    """Whether a checkpoint store on the server is within a transaction; that of another test counts too."""
    import psycopg

    question = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast checkpoints' AND state <> 'idle'"
    )
    with psycopg.connect(dsn) as db:
        (count,) = db.execute(question).fetchone() or (0,)
    return bool(count)
