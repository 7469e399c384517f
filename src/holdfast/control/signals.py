"""SIGINT and SIGTERM of a process that runs a pipeline: the first asks for a drain, the second stops it now.

A third SIGINT, or a second one while the pipeline is still being started, goes to whoever handled the signal before. In
the command line that ends the process, as `kill -9` would.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType
from typing import TYPE_CHECKING

from holdfast.control.ending import Manner

if TYPE_CHECKING:
    from holdfast.control.ending import Ending


class StopNow(BaseException):
    """A drain is cut short."""


class Phase(Enum):
    """What the main thread is doing when a signal comes."""

    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"
    STOPPING = "stopping"


class StopSignals:
    """Turns signals into the wish that a run ends."""

    def __init__(self, ending: Ending) -> None:
        self._ending = ending
        self.phase = Phase.STARTING
        self._before: dict[int, object] = {}

    @contextmanager
    def handled(self) -> Iterator[None]:
        """While signals come here."""
        self._before = {number: signal.signal(number, self._handle) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in self._before.items():
                signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        is_impatient = self.phase is Phase.STOPPING or (self.phase is Phase.STARTING and self._ending.asked.is_set())
        if is_impatient and number == signal.SIGINT:
            self._pass_on(number, frame)
        elif self.phase is Phase.DRAINING and self._ending.asked.is_set():
            self.phase = Phase.STOPPING
            raise StopNow
        elif not is_impatient:
            self._ending.ask(Manner.STOP if self._ending.asked.is_set() else Manner.DRAIN)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        before = self._before[number]
        (before if callable(before) else signal.default_int_handler)(number, frame)
