"""Ctrl-C in a real terminal: once drains, twice stops, and at no moment is there a stack on the screen."""

from __future__ import annotations

import re
import sqlite3
import sys
from pathlib import Path

import pytest

from holdfast.control.client import ask
from tests.support.command_line import wait_until
from tests.support.crash.reconcile import table_numbers
from tests.support.local_pipelines import passed
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import COMMAND, DELIVERED, assert_clean, run_in_terminal, wait_until_loaded

_HANGS_WHEN_STOPPED = """
import time
from holdfast.cli import main
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders

class Hanging(LocalProcessor):
    def stop(self): time.sleep(600)

main(processor=lambda: Hanging(orders))
"""


@pytest.mark.parametrize("library", ["_pydantic_core", "libarrow.so"])
def test_ctrl_c_in_the_middle_of_the_imports_is_one_line(tmp_path: Path, library: str) -> None:
    with run_in_terminal(tmp_path, command=("holdfast",)) as terminal:
        wait_until_loaded(terminal, library)
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert terminal.lines == ["^C", "Interrupted; nothing was started."]


def test_one_ctrl_c_drains_and_says_so(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path) as terminal:
        terminal.wait_for(DELIVERED)
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
        assert "Draining orders for up to 30 s. Ctrl-C again stops it now." in terminal.text
        assert "orders has stopped (graceful)." in terminal.text
        assert terminal.processes() == []
    numbers = table_numbers(tmp_path / "sink.db")
    assert numbers == passed(max(numbers))[: len(numbers)]


def test_ctrl_c_as_soon_as_it_says_that_it_runs_drains_it(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path) as terminal:
        terminal.wait_for("Ctrl-C drains it")
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
        assert "orders has stopped (graceful)." in terminal.text


def test_a_second_ctrl_c_stops_a_drain_that_waits_for_a_sink(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path, "--drain-within", 600) as terminal:
        terminal.wait_for(DELIVERED)
        blocking = sqlite3.connect(tmp_path / "sink.db", isolation_level=None)
        blocking.execute("BEGIN IMMEDIATE")
        wait_until(lambda: _in_flight(tmp_path / "pipeline") > 0)
        terminal.press(CTRL_C)
        terminal.wait_for("Ctrl-C again stops it now.")
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["state"] == "draining")
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        blocking.close()
        assert_clean(terminal)
        assert "orders has stopped (forced)." in terminal.text
        assert re.search(r"table has \d+ batch", terminal.text)


def test_two_at_once_stop_it(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path) as terminal:
        terminal.wait_for(DELIVERED)
        terminal.press(CTRL_C + CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
        assert re.search(r"orders has stopped \((forced|graceful)\)\.", terminal.text)


def test_a_third_ctrl_c_ends_a_process_that_cannot_stop(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path, command=(sys.executable, "-c", _HANGS_WHEN_STOPPED)) as terminal:
        terminal.wait_for(DELIVERED)
        terminal.press(CTRL_C)
        terminal.wait_for("Ctrl-C again stops it now.")
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["state"] == "draining")
        terminal.press(CTRL_C)
        terminal.wait_for("Stopping orders now.")
        wait_until(lambda: _ends_by(terminal, CTRL_C))
        assert terminal.end() == 130
        assert_clean(terminal)
        assert "Nothing is lost; the next start goes on where it was." in terminal.text


def test_ctrl_c_ends_top_as_it_is_meant_to(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path) as run:
        run.wait_for(DELIVERED)
        with Terminal([*COMMAND, "top"], directory=tmp_path) as terminal:
            terminal.wait_for("orders: running")
            terminal.press(CTRL_C)
            assert terminal.end() == 0
            assert_clean(terminal)
        assert run.is_running


def test_ctrl_c_while_another_command_waits_for_an_answer_is_one_line(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path) as run:
        run.wait_for(DELIVERED)
        ask(tmp_path / "pipeline", "pause")
        with Terminal(["holdfast", "tap", "--wait", 10], directory=tmp_path) as terminal:
            wait_until(lambda: _has_asked(terminal))
            terminal.press(CTRL_C)
            assert terminal.end() == 130
            assert terminal.lines == ["^C", "Interrupted."]
        assert run.is_running


def _ends_by(terminal: Terminal, keys: bytes) -> bool:
    """Whether it has ended, else press once more, as a person does.

    Python handles a signal that came just before a blocking call when that call returns: one press may not do.
    """
    if terminal.is_running:
        terminal.press(keys)
    return not terminal.is_running


def _in_flight(directory: Path) -> int:
    lanes = ask(directory, "status")["snapshot"]["lanes"]
    return next(int(lane["in_flight"]) for lane in lanes if lane["name"] == "table")


def _has_asked(terminal: Terminal) -> bool:
    """Whether the command has opened a socket: it asks the process that runs the pipeline."""
    return any("socket:" in _opened(pid) for pid in terminal.processes())


def _opened(pid: int) -> str:
    try:
        return " ".join(str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return ""
