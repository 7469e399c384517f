"""Checkpoint stores that fail, hang and count as a test says."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from holdfast.checkpoint.cursors import CURSORS
from holdfast.checkpoint.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.contract import Commit
    from holdfast.checkpoint.memory import Shelf
    from holdfast.ledger import Cursors

LIMIT = 20.0


class TestingStore(MemoryStore):
    """A store over a shelf whose commits fail while `failing` is set, and wait while the door is shut."""

    __test__ = False

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf)
        self.failing: Exception | None = None
        self.next_failures: deque[Exception | None] = deque()
        """What the next commits fail with, one after the other; None for one that succeeds."""
        self.written: list[Cursors] = []
        self.writing = threading.Event()
        self._door = threading.Event()
        self._door.set()

    def shut(self) -> None:
        """Let the next commit wait; `writing` says when it has begun."""
        self.writing.clear()
        self._door.clear()

    def open(self) -> None:
        self._door.set()

    def commit(self, commit: Commit) -> Mapping[str, int]:
        self.writing.set()
        assert self._door.wait(LIMIT)
        failure = self.next_failures.popleft() if self.next_failures else self.failing
        if failure is not None:
            raise failure
        done = super().commit(commit)
        cursors = self.get(CURSORS)
        assert cursors is not None
        self.written.append(cursors)
        return done
