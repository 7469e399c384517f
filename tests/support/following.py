"""A source of files in the hands of a test: time is made up, the files are real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.capture.files import LogFiles

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from holdfast.model.positions import Position

    Event = dict[str, Any]

LONG = 1000.0
"""Longer than every wait of the source."""


class Following:
    """Reads what there is to read, and restarts as a process does: from the last position, and from nothing else."""

    def __init__(self, *patterns: Path | str, **options: Any) -> None:
        self._patterns = patterns
        self._options: dict[str, Any] = {"idle": 1e9, **options}
        self.time = 0.0
        self.position: Position | None = None
        self.source = self._opened()

    def events(self, *, after: float = 1.0) -> list[Event]:
        """All events that are there after so many seconds."""
        self.time += after
        found: list[Event] = []
        while (captured := self.source.read(0)) is not None:
            assert self.position is None or captured.position.at_or_after(self.position)
            self.position = captured.position
            found += captured.events.to_pylist()
        return found

    def lines(self, *, after: float = 1.0) -> list[bytes]:
        """What these events say."""
        return [event["payload"] for event in self.events(after=after)]

    def restart(self) -> None:
        """End without a word, and begin again."""
        self.source.close()
        self.source = self._opened()

    def close(self) -> None:
        """End."""
        self.source.close()

    def _opened(self) -> LogFiles:
        source = LogFiles(*self._patterns, monotonic=lambda: self.time, sleep=lambda _: None, **self._options)
        source.open(self.position)
        return source


def headers(event: Event) -> dict[str, str]:
    """The headers of an event but for the name of its file."""
    return {one["key"]: one["value"].decode() for one in event["headers"] if one["key"] != "file"}


def file_of(event: Event) -> str:
    """The name of the file that an event is of."""
    return next(one["value"].decode() for one in event["headers"] if one["key"] == "file")
