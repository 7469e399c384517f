"""Where the log lines of a run go: all of them into a file of bounded size, warnings to the terminal as well.

A line of the file is logfmt, so that `grep` and Holdfast's own `parse_logfmt` read it:

    time=2026-11-18T07:04:11.218Z level=warning pipeline=orders logger=deliver.worker msg="lane table is frozen …"
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.disk.log_file import LogFile

if TYPE_CHECKING:
    from holdfast.cli.output import Output

LEVELS = ("debug", "info", "warning", "error")
ALARMS = "holdfast.alarms"
"""The logger of alarms."""
_TOLD_OTHERWISE = frozenset({ALARMS, "holdfast.end"})
"""Loggers of what the terminal is told in other words: alarms, and why a run ended."""
_MAX_BYTES = 10 << 20
_OLDER_FILES = 4
_LONGEST_ON_A_TERMINAL = 400


@contextmanager
def logging_to(file: Path | None, *, level: str, pipeline: str, out: Output) -> Iterator[None]:
    """Write log lines there while a pipeline runs.

    :param file: None for standard error, without anything else on the terminal.
    :param level: the least level that is written; the terminal gets warnings and errors.
    """
    root, ours, java = logging.getLogger(), logging.getLogger("holdfast"), logging.getLogger("py4j")
    handlers: list[logging.Handler] = []
    if file is None:
        handlers.append(logging.StreamHandler(sys.stderr))
    else:
        handlers += [LogFile(file, max_bytes=_MAX_BYTES, older_files=_OLDER_FILES), _OnTerminal(out)]
    handlers[0].setFormatter(Logfmt(pipeline))
    before = ours.level, java.level
    ours.setLevel(level.upper())
    java.setLevel(logging.CRITICAL)  # what it meets is reported by whoever asked it, without its stack
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()
        ours.setLevel(before[0])
        java.setLevel(before[1])


class Logfmt(logging.Formatter):
    """A record as one line of `key=value`."""

    def __init__(self, pipeline: str) -> None:
        super().__init__()
        self._pipeline = pipeline

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {
            "time": time,
            "level": record.levelname.lower(),
            "pipeline": self._pipeline,
            "logger": record.name.removeprefix("holdfast."),
            "msg": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return " ".join(f"{key}={_quoted(value)}" for key, value in fields.items())


class _OnTerminal(logging.Handler):
    """Warnings and errors as notes, each on one line."""

    def __init__(self, out: Output) -> None:
        super().__init__(logging.WARNING)
        self._out = out
        self.addFilter(lambda record: record.name not in _TOLD_OTHERWISE)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a note."""
        lines = record.getMessage().splitlines() or [""]
        text = lines[0] if len(lines) == 1 else f"{lines[0]} …"
        cut = text if len(text) <= _LONGEST_ON_A_TERMINAL else f"{text[:_LONGEST_ON_A_TERMINAL]}…"
        self._out.note(f"{record.levelname.lower()}: {cut}")


def _quoted(value: str) -> str:
    if value and not any(character in ' ="\\' or not character.isprintable() for character in value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in escaped)
    return f'"{printable}"'
