"""`holdfast run` on a full disk: it waits and says so, to whoever started it and to whoever asks, and then starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT, holdfast, running, wait_until
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_disks import Ballast
from tests.support.local_pipelines import passed
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FIRST = DOCUMENT.replace("pace: {rate: 500}", "events: 220")
SECOND = DOCUMENT.replace("pace: {rate: 500}", "events: 880")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The disk of a pipeline that has run once."""
    with small_disk(tmp_path / "pipeline", "24M") as disk:
        with running(tmp_path, "--until", "caught-up", text=FIRST) as run:
            code, _ = run.end()
        assert code == 0
        yield disk


def check_exact(directory: Path, events: int) -> None:
    assert table_numbers(directory / "sink.db") == file_numbers(directory / "files") == passed(events)


@pytest.mark.req("X5")
def test_a_start_waits_for_room_tells_so_and_goes_on_by_itself(tmp_path: Path, disk: Path) -> None:
    (disk / "disk.reserve").unlink()
    ballast = Ballast(disk)
    with running(tmp_path, "--until", "caught-up", text=SECOND) as run:
        assert run.started["event"] == "waiting"
        assert "no room" in run.started["cause"]
        status = holdfast("status", "pipeline", "--output", "json", directory=tmp_path)
        assert status.json["error"]["code"] == "HF-306"
        assert f"Process {run.process.pid} is about to start" in status.json["error"]["what"]
        ballast.remove()
        assert run.line()["event"] == "started"
        code, said = run.end()
    assert (code, said[-1]["event"]) == (0, "ended")
    check_exact(tmp_path, 880)


@pytest.mark.req("X5")
def test_a_start_after_a_crash_on_a_disk_that_is_full_is_seen_in_the_status(tmp_path: Path) -> None:
    """SQLite's side files are still there, so that the status can be read."""
    with small_disk(tmp_path / "pipeline", "24M") as disk:
        with running(tmp_path) as run:
            wait_until(lambda: (disk / "disk.reserve").exists())
            run.process.kill()
        (disk / "disk.reserve").unlink()
        ballast = Ballast(disk)
        with running(tmp_path, "--until", "caught-up", text=SECOND) as run:
            assert run.started["event"] == "waiting"
            status = run.ask("status", "pipeline").json
            assert (status["snapshot"]["state"], status["snapshot"]["pid"]) == ("starting", run.process.pid)
            assert "disk-full" in [finding["alarm"] for finding in status["health"]["findings"]]
            ballast.remove()
            code, _ = run.end()
    assert code == 0
    check_exact(tmp_path, 880)


@pytest.mark.req("X5")
def test_a_start_that_waits_for_room_can_be_stopped(tmp_path: Path, disk: Path) -> None:
    (disk / "disk.reserve").unlink()
    ballast = Ballast(disk)
    with running(tmp_path, "--until", "caught-up", text=SECOND) as run:
        assert run.started["event"] == "waiting"
        run.terminate()
        code, _ = run.end()
    assert code == 0
    ballast.remove()
    with running(tmp_path, "--until", "caught-up", text=SECOND) as run:
        code, _ = run.end()
    assert code == 0
    check_exact(tmp_path, 880)


@pytest.mark.req("X5")
def test_the_reserve_lets_it_start_on_a_disk_that_others_filled(tmp_path: Path, disk: Path) -> None:
    ballast = Ballast(disk)
    with running(tmp_path, "--until", "caught-up", text=SECOND) as run:
        assert run.started["event"] == "started"
        ballast.remove()
        code, _ = run.end()
    assert code == 0
    check_exact(tmp_path, 880)
