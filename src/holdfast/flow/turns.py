"""Who waits for room, and whose turn it is: sources in rotation, and within a source first come, first served.

Whoever is called keeps its place until it has acted, so nobody overtakes it meanwhile. One that goes away instead,
cancelled or because its time is up, hands its turn on; nothing was done in its name.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True, eq=False)
class _Waiter:
    source: str
    items: int
    called: asyncio.Future[None]


class Turns:
    """The senders that wait for room on one edge.

    :param room: how many items fit now.
    """

    def __init__(self, room: Callable[[], int]) -> None:
        self._room = room
        self._rotation: dict[str, deque[_Waiter]] = {}
        """The sources that have somebody waiting, the next one first."""

    def __bool__(self) -> bool:
        """Whether somebody waits."""
        return bool(self._rotation)

    def is_free(self, items: int) -> bool:
        """Whether so many items may go in now, before nobody who waits."""
        return not self._rotation and items <= self._room()

    async def wait(self, items: int, source: str = "") -> None:
        """Return when it is the caller's turn. It acts at once, then has the next one called with `call`."""
        waiter = _Waiter(source, items, asyncio.get_running_loop().create_future())
        self._rotation.setdefault(source, deque()).append(waiter)
        try:
            await waiter.called
        except BaseException:
            self._leave(waiter)
            self.call()
            raise
        self._leave(waiter)
        self._to_the_end(source)

    def call(self) -> None:
        """Call the one whose turn it is, if there is room for it."""
        for waiting in self._rotation.values():
            waiter = waiting[0]
            if not waiter.called.done() and waiter.items <= self._room():
                waiter.called.set_result(None)
            return

    def call_all(self) -> None:
        """Call everybody, room or not: the edge is closed, and they have to see it."""
        for waiting in self._rotation.values():
            for waiter in waiting:
                if not waiter.called.done():
                    waiter.called.set_result(None)

    def _leave(self, waiter: _Waiter) -> None:
        waiting = self._rotation[waiter.source]
        waiting.remove(waiter)
        if not waiting:
            del self._rotation[waiter.source]

    def _to_the_end(self, source: str) -> None:
        if source in self._rotation:
            self._rotation[source] = self._rotation.pop(source)
