"""The way from one operator to the next: a channel on which nothing is sent without a credit.

The receiver gives a credit back after it has dealt with a message, so never more messages are under way than credits
were granted, and the channel cannot grow. Withholding credits is how a receiver pauses its sender: credits that are
out may still be spent, the ones coming back are kept until the release. One sender, one receiver, one event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from holdfast.checkpoint.operators.items import Barrier, End, Item
from holdfast.model.errors import InvalidFlow

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
Message: TypeAlias = Item[T] | Barrier | End


def _nobody() -> None:
    """Stands in until a receiver asks to be woken."""


class Edge(Generic[T]):
    """A channel with credits; its name is the name of the receiver's input."""

    def __init__(self, name: str, *, credits: int = 64) -> None:
        if credits < 1:
            what = f"Edge {name!r} needs at least one credit, but has {credits}."
            raise InvalidFlow(what, remedy="Give it as many credits as items may be under way.", edge=name)
        self.name = name
        self._queue: deque[Message[T]] = deque()
        self._credits = credits
        self._kept_back = 0
        self._withheld = False
        self._granted = asyncio.Event()
        self._wake: Callable[[], None] = _nobody

    # The sender's end

    @property
    def credits(self) -> int:
        """How many messages may be sent now."""
        return self._credits

    async def send(self, message: Message[T]) -> None:
        """Spend a credit on a message; waits until there is one."""
        while not self._credits:
            self._granted.clear()
            await self._granted.wait()
        self._credits -= 1
        self._queue.append(message)
        self._wake()

    # The receiver's end

    def wakes(self, wake: Callable[[], None]) -> None:
        """Have the receiver told of every message."""
        self._wake = wake

    @property
    def ready(self) -> bool:
        """Whether a message can be received."""
        return bool(self._queue)

    def __len__(self) -> int:
        return len(self._queue)

    def receive(self) -> Message[T]:
        """The next message; its credit stays out until `give_back`."""
        return self._queue.popleft()

    def give_back(self) -> None:
        """Return the credit of a message that is dealt with."""
        self._kept_back += 1
        self._grant()

    def withhold(self) -> None:
        """Keep back the credits that would return from now on."""
        self._withheld = True

    def release(self) -> None:
        """Return what was kept back and go on."""
        self._withheld = False
        self._grant()

    def _grant(self) -> None:
        if self._kept_back and not self._withheld:
            self._credits += self._kept_back
            self._kept_back = 0
            self._granted.set()
