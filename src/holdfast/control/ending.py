"""How a run is asked to end, and how those who asked hear what came of it."""

from __future__ import annotations

import threading
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.model.errors import ControlUnavailable, HoldfastError

if TYPE_CHECKING:
    from holdfast.ledger import StopRecord


class Manner(Enum):
    """How a run ends."""

    DRAIN = "drain"
    """In order, and what was sent may be answered until the deadline."""
    STOP = "stop"
    """Now."""


class Ending:
    """The wish that a run ends, shared between threads. The stronger manner wins, and the newest deadline."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.manner = Manner.DRAIN
        self.within: float | None = None
        """Seconds for a drain; None for the default."""
        self._ended = threading.Event()
        self._record: StopRecord | None = None
        self._error: HoldfastError | None = None

    def ask(self, manner: Manner, within: float | None = None) -> None:
        """Let the run end."""
        if manner is Manner.STOP:
            self.manner = manner
        if within is not None:
            self.within = within
        self.asked.set()

    def is_to_stop(self) -> bool:
        """Whether it was asked for a stop, which does not wait for a drain."""
        return self.manner is Manner.STOP

    def tell(self, record: StopRecord | None, error: HoldfastError | None = None) -> None:
        """It has ended: with this record, or by this error."""
        self._record, self._error = record, error
        self._ended.set()

    def wait(self, seconds: float) -> StopRecord | None:
        """What came of it. Raises what ended the run, if something did."""
        if not self._ended.wait(seconds):
            raise ControlUnavailable(
                f"The pipeline has not ended within {seconds:.0f} s.",
                kept="It is still ending.",
                remedy="Ask for its status, or let it stop without draining.",
            )
        if self._error is not None:
            raise self._error
        return self._record
