"""A person at a terminal: starts a command, reads the screen, presses keys, and changes the size of the window.

    with Terminal(["holdfast", "run", "orders.yaml"], directory=tmp_path, columns=80) as terminal:
        terminal.wait_for("Ctrl-C drains it")
        terminal.press(CTRL_C)
        assert terminal.end() == 0

The command runs in a session of its own with a real pseudo-terminal as its controlling terminal. Keys go through the
kernel's terminal driver, so Ctrl-C signals every process of the foreground group, as it does for a person.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self
from uuid import uuid4

from tests.support.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
"""Where `holdfast` and `meridian` are installed, with the python that runs the tests."""
_MARK = "TERMINAL_OF_A_TEST"
"""The environment variable by which the processes of a terminal are found, whatever session they are in."""
CTRL_C = b"\x03"
CTRL_BACKSLASH = b"\x1c"


class Terminal:
    """A command in a terminal of its own, killed with everything that came of it when the block is left.

    :param environment: what differs from the environment of the tests; None removes a variable.
    """

    def __init__(
        self,
        command: Sequence[object],
        *,
        directory: Path,
        columns: int = 80,
        rows: int = 24,
        environment: Mapping[str, str | None] | None = None,
    ) -> None:
        self.screen = Screen(columns, rows)
        self.raw = bytearray()
        """Every byte that the command wrote to the terminal."""
        self._mark = uuid4().hex
        self._changed = threading.Condition()
        self._is_closed = False
        self._primary, secondary = pty.openpty()
        self._set_size(columns, rows)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", ROOT / "tests" / "support" / "foreground_job.py", *map(str, command)],
            cwd=directory,
            env=_environment({**(environment or {}), _MARK: self._mark}),
            stdin=secondary,
            stdout=secondary,
            stderr=secondary,
            start_new_session=True,
        )
        os.close(secondary)
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        until = time.monotonic() + 10
        while left := self.processes():
            assert time.monotonic() < until, f"processes {left} cannot be ended"
            for pid in left:
                _signal(pid, signal.SIGKILL)
            time.sleep(0.02)
        self._reader.join(10)
        os.close(self._primary)

    # What a person does

    def press(self, keys: bytes) -> None:
        """Type these bytes."""
        os.write(self._primary, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Drag the corner of the window: the size changes, and the foreground job is told with SIGWINCH."""
        with self._changed:
            self.screen.resize(columns, rows)
            self._set_size(columns, rows)

    def wait_for(self, wanted: str | re.Pattern[str] | Callable[[Screen], bool], seconds: float = 60) -> None:
        """Wait until this can be read, scrolling back included, or until this is true of the screen."""
        until = time.monotonic() + seconds
        with self._changed:
            while not self._holds(wanted):
                left = until - time.monotonic()
                assert left > 0, f"{wanted!r} did not appear within {seconds} s:\n{self.screen.text}"
                assert not self._is_over(), f"the command ended without {wanted!r}:\n{self.screen.text}"
                self._changed.wait(min(left, 0.2))

    def end(self, seconds: float = 60) -> int:
        """Wait for the end of the command and for what it wrote last: its exit code, as a shell tells it."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it has not ended within {seconds} s:\n{self.text}") from None
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, 1)  # something left behind may hold the terminal open
        return code

    # What a person sees

    @property
    def text(self) -> str:
        """Everything that can be read, scrolling back included."""
        with self._changed:
            return self.screen.text

    @property
    def lines(self) -> list[str]:
        """The visible lines."""
        with self._changed:
            return self.screen.lines

    @property
    def is_running(self) -> bool:
        """Whether the command has not ended."""
        return self._process.poll() is None

    def processes(self) -> list[int]:
        """Every process that came of the command and still runs, also one with a session of its own, as a JVM has."""
        return [pid for pid in _all_processes() if pid != self._process.pid and _is_marked(pid, self._mark)]

    # Below

    def _holds(self, wanted: str | re.Pattern[str] | Callable[[Screen], bool]) -> bool:
        if isinstance(wanted, str):
            return wanted in self.screen.text
        if isinstance(wanted, re.Pattern):
            return wanted.search(self.screen.text) is not None
        return wanted(self.screen)

    def _is_over(self) -> bool:
        return self._is_closed and self._process.poll() is not None

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._primary, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._primary, 65536)
            except OSError:  # EIO: nobody has the other end open any more
                data = b""
            with self._changed:
                if data:
                    self.raw += data
                    self.screen.feed(data)
                else:
                    self._is_closed = True
                self._changed.notify_all()
            if not data:
                return


def _environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """A terminal's environment: ours, with the commands of this project on the path and nothing that takes colour."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    asked = {"NO_COLOR": None, "COLUMNS": None, "LINES": None, "TERM": "xterm-256color", "PATH": path}
    whole: dict[str, str | None] = {**os.environ, "PYTHONPATH": str(ROOT), **asked, **changes}
    return {name: value for name, value in whole.items() if value is not None}


def _all_processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _is_marked(pid: int, mark: str) -> bool:
    """Whether the process inherited the mark; one that has ended and is not waited for has no environment."""
    try:
        return f"{_MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
