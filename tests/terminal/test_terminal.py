"""The terminal of these tests is a real one: size, signals, groups and exit codes are the kernel's."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.terminal import CTRL_C, Terminal

_SHOWS_ITS_SIZE = """
import os, signal, sys
def show(*_): print("size", *os.get_terminal_size(), flush=True)
signal.signal(signal.SIGWINCH, show)
show()
while True: signal.pause()
"""

_WITH_A_CHILD = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c",
    "import signal\\n"
    "signal.signal(signal.SIGINT, lambda *_: (print('child too', flush=True), exit()))\\n"
    "print('ready', flush=True)\\n"
    "signal.pause()"])
signal.signal(signal.SIGINT, lambda *_: None)
signal.pause()
child.wait()
sys.exit(7)
"""


def test_the_command_has_a_terminal_of_this_size_and_is_told_of_another(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", _SHOWS_ITS_SIZE], directory=tmp_path, columns=80, rows=24) as terminal:
        terminal.wait_for("size 80 24")
        terminal.resize(200, 50)
        terminal.wait_for("size 200 50")


def test_ctrl_c_reaches_every_process_of_the_foreground_group(tmp_path: Path) -> None:
    with Terminal([sys.executable, "-c", _WITH_A_CHILD], directory=tmp_path) as terminal:
        terminal.wait_for("ready")
        terminal.press(CTRL_C)
        terminal.wait_for("child too")
        assert terminal.end() == 7


def test_a_command_that_ctrl_c_ends_has_the_exit_code_that_a_shell_tells(tmp_path: Path) -> None:
    with Terminal(["sh", "-c", "echo ready; exec sleep 600"], directory=tmp_path) as terminal:
        terminal.wait_for("ready")
        terminal.press(CTRL_C)
        assert terminal.end() == 130


def test_what_it_leaves_behind_is_seen_and_ended(tmp_path: Path) -> None:
    with Terminal(["sh", "-c", "setsid sleep 600 & echo left"], directory=tmp_path) as terminal:
        terminal.wait_for("left")
        assert terminal.end() == 0
        (left,) = terminal.processes()
    assert not Path(f"/proc/{left}/cmdline").exists() or not Path(f"/proc/{left}/cmdline").read_bytes()
