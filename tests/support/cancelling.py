"""Runs an operator that is cancelled at chosen moments and started again each time, as a supervisor would."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress


async def cancelled_at(steps: Iterable[int], start: Callable[[], Coroutine[None, None, None]]) -> int:
    """Cancel the operator after so many steps of the loop, start it again, and so on; then let it end.

    Returns how many times it was cancelled before it had ended.
    """
    cancelled = 0
    for wait in steps:
        task = asyncio.create_task(start())
        for _ in range(wait):
            await asyncio.sleep(0)
        if task.done():
            await task
            return cancelled
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        cancelled += 1
    await start()
    return cancelled
