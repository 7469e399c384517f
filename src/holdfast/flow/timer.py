"""The passing of time, as whatever runs in an event loop needs it: measured and waited for, never the time of day."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Timer(Protocol):
    """Measures and waits. Tests pass one that they move by hand."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back while the process lives."""

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed."""


class SystemTimer:
    """The timer of the machine."""

    def monotonic(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds have passed."""
        await asyncio.sleep(seconds)
