"""A pipeline is run, asked and ended on the command line: the real command, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.support.command_line import DOCUMENT, holdfast, running, wait_until
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.local_pipelines import passed

from holdfast.control.client import ask

if TYPE_CHECKING:
    from pathlib import Path

FINITE = DOCUMENT.replace("pace: {rate: 500}", "events: 220")


def test_a_run_until_all_is_delivered_ends_well_and_its_files_tell_so(tmp_path: Path) -> None:
    with running(tmp_path, "--until", "caught-up", text=FINITE) as run:
        assert run.started["event"] == "started"
        code, said = run.end()
    assert (code, said[-1]["event"], said[-1]["stop"]["reason"]) == (0, "ended", "graceful")
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(220)
    assert not (tmp_path / "pipeline" / "control.sock").exists()
    after = holdfast("status", "pipeline", "--output", "json", directory=tmp_path)
    assert after.code == 4
    seen = after.json["snapshot"]
    assert (seen["state"], seen["sources"][0]["end"], seen["sources"][0]["waiting"]) == ("stopped", 220, 0)
    assert {lane["name"]: lane["lag_batches"] for lane in seen["lanes"]} == {"archive": 0, "table": 0}
    assert seen["outbox"]["committed"] == seen["outbox"]["newest"] > 0


def test_a_running_pipeline_is_asked_paused_resumed_tapped_and_drained(tmp_path: Path) -> None:
    metrics = tmp_path / "metrics.prom"
    with running(tmp_path, "--metrics-file", metrics) as run:
        directory = tmp_path / "pipeline"
        mode = (directory / "control.sock").stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        wait_until(lambda: ask(directory, "status")["snapshot"]["outbox"]["committed"] > 0)
        wait_until(lambda: ask(directory, "status")["health"]["ready"])
        status = run.ask("status", "pipeline")
        assert status.json["snapshot"]["pid"] == run.process.pid
        assert status.json["health"]["level"] in ("ok", "degraded")
        drawn = holdfast("graph", "pipeline", directory=tmp_path)
        assert "archive (optional)" in drawn.out
        assert "\x1b" not in drawn.out
        assert [node["node"] for node in run.ask("graph", "pipeline").json["nodes"]] == [
            "source",
            "outbox",
            "sink",
            "sink",
        ]
        assert len(run.ask("tap", "pipeline", "--rows", 3, "--point", "inbox:orders").json["rows"]) == 3
        assert 1 <= len(run.ask("tap", "pipeline", "--rows", 3).json["rows"]) <= 3
        assert run.ask("tap", "pipeline", "--point", "nowhere").json["error"]["code"] == "HF-954"
        assert len(run.ask("top", "pipeline", "--times", 2, "--every", 0.1).out.splitlines()) == 2
        assert run.ask("pause", "pipeline").code == 0
        assert run.ask("status", "pipeline").code == 5
        assert run.ask("pause", "pipeline").json["error"]["code"] == "HF-806"
        assert run.ask("resume", "pipeline").code == 0
        wait_until(lambda: metrics.exists() and 'holdfast_ready{pipeline="orders"} 1' in metrics.read_text())
        drained = run.ask("drain", "pipeline", "--within", 20)
        assert (drained.code, drained.json["stop"]["reason"]) == (0, "graceful")
        code, said = run.end()
        assert (code, said[-1]["event"]) == (0, "ended")
    assert run.ask("drain", "pipeline").code == 4


def test_sigterm_drains(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["committed"] > 0)
        run.terminate()
        code, said = run.end()
    assert (code, said[-1]["stop"]["reason"]) == (0, "graceful")


def test_ctrl_c_says_how_many_captured_events_are_left_for_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        directory = tmp_path / "pipeline"
        assert run.ask("pause", "pipeline").code == 0
        wait_until(lambda: ask(directory, "status")["snapshot"]["sources"][0]["waiting"] > 100)
        run.process.send_signal(signal.SIGINT)
        code, said = run.end()
    waiting = said[-1]["stop"]["unprocessed"]["orders"]
    assert code == 0
    assert waiting == ask_files(directory)["sources"][0]["waiting"] > 100
    told = (directory / "log" / "holdfast.log").read_text()
    assert f"{waiting:,} captured events of orders wait in its inbox" in told
    assert "Nothing is left over" not in told


def ask_files(directory: Path) -> dict[str, Any]:
    seen: dict[str, Any] = holdfast("status", directory, "--output", "json", directory=directory).json["snapshot"]
    return seen


def test_a_second_sigterm_stops_a_drain_that_waits_for_a_sink(tmp_path: Path) -> None:
    with running(tmp_path, "--drain-within", 600) as run:
        directory = tmp_path / "pipeline"
        wait_until(lambda: ask(directory, "status")["snapshot"]["outbox"]["committed"] > 0)
        blocking = sqlite3.connect(tmp_path / "sink.db", isolation_level=None)
        blocking.execute("BEGIN IMMEDIATE")
        wait_until(lambda: _lane(directory, "table")["in_flight"] > 0 and _lane(directory, "table")["lag_batches"] > 3)
        run.terminate()
        wait_until(lambda: ask(directory, "status")["snapshot"]["state"] == "draining")
        run.terminate()
        code, said = run.end(timeout=60)
        blocking.close()
    assert (code, said[-1]["stop"]["reason"]) == (0, "forced")
    assert said[-1]["stop"]["abandoned"]["table"]


def test_stop_ends_it_now(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["committed"] > 0)
        assert run.ask("stop", "pipeline").code == 0
        assert run.end()[0] == 0


def test_a_pause_of_a_stopped_pipeline_is_there_at_the_next_start(tmp_path: Path) -> None:
    with running(tmp_path, "--until", "caught-up", text=FINITE) as run:
        run.end()
    assert holdfast("pause", "pipeline", directory=tmp_path).code == 0
    with running(tmp_path):
        assert ask(tmp_path / "pipeline", "status")["snapshot"]["state"] == "paused"


def test_a_killed_pipeline_is_told_as_crashed_and_its_left_over_socket_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["committed"] > 0)
        run.process.kill()
        run.process.wait()
    assert (tmp_path / "pipeline" / "control.sock").exists()
    told = holdfast("status", "pipeline", "--output", "json", directory=tmp_path)
    assert (told.code, told.json["snapshot"]["state"]) == (4, "crashed")
    with running(tmp_path):
        assert ask(tmp_path / "pipeline", "status")["snapshot"]["state"] == "running"


@pytest.mark.req("M24")
def test_made_up_events_are_of_now_before_and_after_a_kill_and_none_is_doubled(tmp_path: Path) -> None:
    directory = tmp_path / "pipeline"
    for _ in range(2):
        with running(tmp_path) as run:
            delivered = ask(directory, "status")["snapshot"]["outbox"]["newest"]
            wait_until(lambda before=delivered: ask(directory, "status")["snapshot"]["outbox"]["newest"] > before + 3)  # type: ignore[misc]
            seen = run.ask("status").json["snapshot"]
            lags = [each["event_lag"] for each in (*seen["sources"], *seen["lanes"])]
            assert len(lags) == 3
            assert all(0 <= lag < 60 for lag in lags)
            run.process.kill()
            run.process.wait()
    with running(tmp_path) as run:
        run.terminate()
        assert run.end()[0] == 0
    numbers = table_numbers(tmp_path / "sink.db")
    assert numbers == passed(max(numbers))


def test_no_command_signals_a_process_that_was_given_the_id_of_the_owner(tmp_path: Path) -> None:
    with running(tmp_path, "--until", "caught-up", text=FINITE) as run:
        run.end()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        (tmp_path / "pipeline" / "owner.lock").write_text(json.dumps({"pid": stranger.pid, "started": "1"}))
        assert holdfast("stop", "pipeline", directory=tmp_path).code == 4
        assert holdfast("drain", "pipeline", directory=tmp_path).code == 4
        assert holdfast("status", "pipeline", "--output", "json", directory=tmp_path).json["snapshot"]["pid"] is None
        with running(tmp_path, "--until", "caught-up", "--takeover", "end", text=FINITE) as run:
            assert run.end()[0] == 0
        assert stranger.poll() is None
    finally:
        os.killpg(stranger.pid, signal.SIGKILL)
        stranger.wait()


def test_a_second_run_is_refused_and_told_who_owns_it(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        second = holdfast("run", "--output", "json", directory=tmp_path)
        assert second.code == 1
        assert second.json["error"]["code"] == "HF-801"
        assert str(run.process.pid) in second.json["error"]["what"]
        assert "`holdfast run --takeover end`" in second.json["error"]["remedy"]
        assert "Takeover." not in second.out


def _lane(directory: Path, name: str) -> dict[str, int]:
    lanes = ask(directory, "status")["snapshot"]["lanes"]
    return next(lane for lane in lanes if lane["name"] == name)
