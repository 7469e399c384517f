"""An event loop whose time jumps to the next moment that somebody waits for, so no test waits, and none races."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Idle(selectors.SelectSelector):
    """Waits for no time to pass, and notes how long it should have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None:
            raise AssertionError("everybody waits, and nothing will ever happen")
        self.waited += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at time 0."""

    def __init__(self) -> None:
        self._idle = _Idle()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.waited


class LoopTimer:
    """A timer that goes by the loop it is used in."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, in no time. A deadlock is an error."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
