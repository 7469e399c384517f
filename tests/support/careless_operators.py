"""Operators that start a task for each event, which the audit has to find."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeAlias

from holdfast.flow import Inlet

Work: TypeAlias = Coroutine[None, None, None]

LINE = 21
"""Where the one task of this module is started."""


async def spawning(inlet: Inlet[int]) -> None:
    """Starts a task for each batch."""
    tasks = []
    async for _ in inlet:
        tasks.append(asyncio.create_task(asyncio.sleep(0)))
    await asyncio.gather(*tasks)


class Spawning:
    """The same as an object."""

    async def __call__(self, inlet: Inlet[int]) -> None:
        """Do the same."""
        await spawning(inlet)
