"""The signal that asks sources to end. What is under way is drained behind them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Stop:
    """Set once. A source looks at it between two batches, or waits only as long as it is not set."""

    def __init__(self) -> None:
        self._told: set[Callable[[], None]] = set()
        self._is_set = False

    @property
    def is_set(self) -> bool:
        """Whether to end."""
        return self._is_set

    def set(self) -> None:
        """Ask everybody to end."""
        self._is_set = True
        for tell in tuple(self._told):
            tell()

    def interrupts(self) -> Interruptible:
        """A block whose wait the signal cuts short: `async with stop.interrupts(): frame = await socket.read()`.

        The block is left at the await it stands at, as if it was cancelled there, and what is behind it goes on. So the
        awaits in it have to be such that can be cancelled without loss.
        """
        return Interruptible(self)

    def subscribe(self, tell: Callable[[], None]) -> None:
        """Have somebody told when it is set; now, if it is."""
        self._told.add(tell)
        if self._is_set:
            tell()

    def unsubscribe(self, tell: Callable[[], None]) -> None:
        """No longer tell."""
        self._told.discard(tell)


class Interruptible:
    """The block of `Stop.interrupts`."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._task: asyncio.Task[object] | None = None
        self._cancels_before = 0
        self._fired = False

    async def __aenter__(self) -> None:
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancels_before = self._task.cancelling()
        self._stop.subscribe(self._fire)

    def _fire(self) -> None:
        assert self._task is not None
        self._fired = True
        self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._stop.unsubscribe(self._fire)
        if not self._fired or self._task is None:
            return False
        is_ours_alone = self._task.uncancel() <= self._cancels_before
        return is_ours_alone and kind is asyncio.CancelledError
