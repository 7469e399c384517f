"""What a test wants a person to read at the end of the run, such as how much it covered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Note = Callable[[str], None]
_NOTE = "note"


@pytest.fixture
def note(record_property: Callable[[str, object], None]) -> Note:
    """Keeps a line for the end of the run."""
    return lambda line: record_property(_NOTE, line)


class NotesPlugin:
    """Collects the lines from all workers and prints them last."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.lines += [str(value) for name, value in report.user_properties if name == _NOTE]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.lines:
            terminalreporter.section("what was covered")
        for line in self.lines:
            terminalreporter.write_line(line)
