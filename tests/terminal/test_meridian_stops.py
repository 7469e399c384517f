"""Ctrl-C while `meridian run` starts and when it runs: at each moment a plain line, and the exit code as documented."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from meridian.hosting.demonstration import OURS, prepare
from meridian.operation.home import Home
from tests.support.command_line import wait_until
from tests.support.operations import free_ports
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import COLOUR, assert_clean, java_of

pytestmark = pytest.mark.timeout(600)

RUN = "meridian run --simulate --directory home"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a small demonstration in `home`, over ports that are free."""
    directory = tmp_path_factory.mktemp("meridian")
    prepare(Home(directory / "home"), now_ns=time.time_ns(), others=OURS, first_port=free_ports(4))
    return directory


def test_ctrl_c_while_the_edge_starts_ends_everything_with_one_line(place: Path) -> None:
    with Terminal(RUN.split(), directory=place) as terminal:
        terminal.wait_for("starting the edge", 120)
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert terminal.lines[-1] == "Interrupted while starting. Nothing is lost; the same command starts it again."
        assert_clean(terminal)
        wait_until(lambda: not terminal.processes())


def test_two_at_once_while_spark_starts_stop_it_and_give_the_terminal_back(place: Path) -> None:
    with Terminal(RUN.split(), directory=place, columns=200, rows=50, environment={"NO_COLOR": "1"}) as terminal:
        terminal.wait_for("MERIDIAN ", 120)
        wait_until(lambda: bool(java_of(terminal)), 60)
        terminal.press(CTRL_C)
        terminal.press(CTRL_C)
        said = {0: r"Stopped (in order|at once)", 130: r"It was ended at once\."}[terminal.end(120)]
        assert_clean(terminal)
        assert not COLOUR.search(terminal.raw)
        assert terminal.raw.count(b"\x1b[?1049l") >= terminal.raw.count(b"\x1b[?1049h") == 1
        assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l")
        assert re.match(said, terminal.lines[-1])
        wait_until(lambda: not terminal.processes())


def test_into_a_file_there_are_plain_lines_and_ctrl_c_drains_it(place: Path) -> None:
    with Terminal(["sh", "-c", f"exec {RUN} > run.out 2> run.err"], directory=place) as terminal:
        wait_until(lambda: bool(java_of(terminal)), 120)
        terminal.press(CTRL_C)
        assert terminal.end(120) == 0
        assert terminal.text == "^C"
        wait_until(lambda: not terminal.processes())
    said = (place / "run.err").read_text()
    assert [line for line in said.splitlines() if not line.startswith("foreseeing")] == [
        "starting the edge",
        "starting simulated radars, telescopes and satellites",
        "starting Spark",
        "Draining for up to 10 s. Ctrl-C again stops it now.",
        "Stopped in order. What it knows is in home; the same command goes on from here.",
    ]
    assert not re.search(r"[\x1b\r]|Traceback|WARN", said)
    assert (place / "run.out").read_text() == ""
