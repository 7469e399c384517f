"""`holdfast run` in a terminal with a driver without a JVM, and what must never be seen on its screen."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.command_line import DOCUMENT
from tests.support.terminal import Terminal

COMMAND = (sys.executable, "-m", "tests.support.command_line")
"""The command `holdfast`, but for what runs the steps."""
DELIVERED = re.compile(r"batch [1-9][\d,]*")
"""In the line of progress: the first batch is there."""
UGLY = re.compile(
    r"Traceback|Exception ignored|KeyboardInterrupt|lost sys\.stderr|Fatal Python|\bat (?:org|java|scala)\.|py4j"
    r"|log4j|WARN |incubator|loopback|\.py\", line"
)
"""Stacks of Python and Java, and what Spark prints when it starts."""
COLOUR = re.compile(rb"\x1b\[(?:\d+;)*(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;m]")
"""A sequence that colours text; bold and dim are none."""


def run_in_terminal(
    directory: Path,
    *options: object,
    command: tuple[object, ...] = COMMAND,
    text: str = DOCUMENT,
    columns: int = 80,
    environment: Mapping[str, str | None] | None = None,
) -> Terminal:
    """`holdfast run` on a document in this directory."""
    (directory / "pipeline.yaml").write_text(text)
    return Terminal([*command, "run", *options], directory=directory, columns=columns, environment=environment)


def wait_until_loaded(terminal: Terminal, library: str, seconds: float = 30) -> None:
    """Wait until the command has loaded a library: it is in the middle of its imports then."""
    until = time.monotonic() + seconds
    while not any(library in _mapped(pid) for pid in terminal.processes()):
        assert time.monotonic() < until, f"{library} was not loaded:\n{terminal.text}"
        assert terminal.is_running, f"it ended without {library}:\n{terminal.text}"


def java_of(terminal: Terminal) -> list[int]:
    """The JVMs that came of the command."""
    return [pid for pid in terminal.processes() if _executable(pid).endswith("/java")]


def assert_clean(terminal: Terminal) -> None:
    """Nothing on the screen is for programmers."""
    found = UGLY.search(terminal.text)
    assert found is None, f"{found[0]!r} in:\n{terminal.text}"
    assert not terminal.screen.unknown


def _mapped(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""


def _executable(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/exe").readlink())
    except OSError:
        return ""
