"""`meridian run` and `meridian top` in a real terminal: started, looked at, resized, interrupted, and into a file."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.runtime.layout import Layout
from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.home import Home
from tests.support.command_line import wait_until
from tests.support.operations import free_ports
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import COLOUR, assert_clean, wait_until_loaded

pytestmark = pytest.mark.timeout(600)

STOPPED = "Stopped in order. What it knows is in home; the same command goes on from here."
RUN = ("meridian", "run", "--simulate", "--directory", "home")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small demonstration in `home`, over ports that are free."""
    directory = tmp_path_factory.mktemp("meridian")
    prepare(Home(directory / "home"), now_ns=time.time_ns(), others=OURS, first_port=free_ports(4))
    return directory


@pytest.fixture(scope="module")
def run(place: Path) -> Iterator[Terminal]:
    """An operation whose fusion has judged its first batch, on a terminal of 80 columns."""
    with Terminal(RUN, directory=place) as terminal:
        terminal.wait_for(re.compile(r"UTC  [1-9]\d* objects"), 240)
        yield terminal
        if terminal.is_running:
            terminal.press(CTRL_C)
        assert terminal.end(120) == 0
        assert_clean(terminal)
        assert STOPPED in terminal.text
        (head,) = (line for line in terminal.text.splitlines() if re.search(r"UTC  \d+ objects", line))
        assert head.startswith("MERIDIAN  stopped"), "the last picture begins on a line of its own and is true"
        wait_until(lambda: not terminal.processes())
    assert "Spark" in Layout(place / "home" / "pipeline").spark_log.read_text()


def test_the_screen_follows_the_size_of_the_window(run: Terminal) -> None:
    assert COLOUR.search(run.raw)
    assert all(len(line) <= 80 for line in run.lines)
    run.resize(200, 50)
    run.wait_for(lambda screen: "── Queues" in screen.lines[1] and len(screen.lines[1]) == 200)
    run.resize(80, 24)
    run.wait_for(lambda screen: all(len(line) <= 80 for line in screen.lines) and "── Queues" not in screen.lines[1])
    assert_clean(run)


@pytest.mark.parametrize("columns", [80, 200])
def test_top_without_colour_keeps_within_the_terminal(run: Terminal, place: Path, columns: int) -> None:
    command = ["meridian", "top", "--times", 1, "--directory", "home"]
    wanted = {"NO_COLOR": "1", "COLUMNS": str(columns)}
    with Terminal(command, directory=place, columns=columns, rows=60, environment=wanted) as terminal:
        assert terminal.end() == 0
        assert_clean(terminal)
        assert not COLOUR.search(terminal.raw)
        assert terminal.lines[0].startswith("MERIDIAN  running")
        assert all(len(line) <= columns for line in terminal.lines)
    assert run.is_running


def test_ctrl_c_ends_top_and_leaves_what_it_watched_alone(run: Terminal, place: Path) -> None:
    with Terminal(["meridian", "top", "--directory", "home"], directory=place) as terminal:
        terminal.wait_for("MERIDIAN  running")
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
    assert run.is_running


def test_a_picture_in_a_file_has_neither_colour_nor_cursor(run: Terminal, place: Path) -> None:
    with Terminal(["sh", "-c", "meridian top --directory home > top.txt"], directory=place) as terminal:
        assert terminal.end() == 0
        assert terminal.text == ""
    text = (place / "top.txt").read_text()
    assert "MERIDIAN  running" in text
    assert not re.search(r"[\x1b\r]", text)


def test_ctrl_c_in_the_middle_of_the_imports_is_one_line(tmp_path: Path) -> None:
    with Terminal(RUN, directory=tmp_path) as terminal:
        wait_until_loaded(terminal, "_multiarray_umath")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert terminal.lines == ["^C", "Interrupted; nothing was started."]
    assert not (tmp_path / "home" / "edge").exists()
