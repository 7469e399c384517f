"""The passing of time as lanes need it: measured, waited for, and written into dead letters.

Waiting is always on a condition, so whoever has news can wake a thread that waits for time to pass.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from holdfast.model.clock import utc_now

if TYPE_CHECKING:
    from datetime import datetime
    from threading import Condition


class Clock(Protocol):
    """Measures and waits. Tests pass one that they move by hand."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back while the process lives."""

    def now(self) -> datetime:
        """The time of day, aware."""

    def wait(self, condition: Condition, seconds: float | None) -> None:
        """Wait on the condition, which the caller holds, until it is notified or so many seconds have passed.

        May return earlier: the caller looks again at what it waits for.
        """


class SystemClock:
    """The clock of the machine."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def now(self) -> datetime:
        """The time of day in UTC."""
        return utc_now()

    def wait(self, condition: Condition, seconds: float | None) -> None:
        """Wait until notified or until the time has passed."""
        condition.wait(seconds)
