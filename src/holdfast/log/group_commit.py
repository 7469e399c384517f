"""Gathers many small pushes and makes them durable together: one sync and one commit for all that came meanwhile.

A thread does it, started with the first push. The first push of a group waits for others for an interval less the time
that the last flush took, so that it is durable after about an interval; when a flush takes longer than that, flushes
follow each other without a pause. What is gathered is bounded: when the disk is slower than pushes come, pushing waits.
"""

from __future__ import annotations

import time
from threading import Condition, Thread
from typing import TYPE_CHECKING

from holdfast.model.errors import LogClosed, LogQuota

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.log.pushes import Push

FLUSH_BYTES = 4 * 2**20
"""So much is not kept waiting for more."""
PENDING_BYTES = 32 * 2**20
"""Pushing waits while so much is gathered and not yet durable."""


class GroupCommit:
    """The pushes on their way to disk.

    :param flush: makes pushes durable and answers each; called by one thread.
    :param interval: after how many seconds, about, the first push of a group is to be durable.
    """

    def __init__(self, flush: Callable[[list[Push]], None], *, interval: float, name: str) -> None:
        self._flush = flush
        self._interval = interval
        self._name = name
        self._changed = Condition()
        self._pending: list[Push] = []
        self._nbytes = 0
        self._due = 0.0
        self._last_took = 0.0
        self._is_closing = False
        self._thread: Thread | None = None

    def submit(self, push: Push, timeout: float | None) -> None:
        """Take a push in; `LogQuota` when there is no room for it in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._nbytes < PENDING_BYTES or self._is_closing, timeout):
                raise LogQuota(
                    f"The disk is slower than pushes come: {self._nbytes} bytes wait to become durable.",
                    remedy="Push less, or try again later.",
                )
            if self._is_closing:
                raise LogClosed("The inbox was closed.", remedy="Open it again to push.")
            self._add(push)

    def close(self) -> None:
        """Make durable what was taken in, and take in no more."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _add(self, push: Push) -> None:
        """Wakes the thread only when that changes what it waits for: a wake-up costs more than the push itself."""
        is_first = not self._pending
        if is_first:
            self._due = time.monotonic() + self._interval - self._last_took
        self._pending.append(push)
        self._nbytes += push.nbytes
        if self._thread is None:
            self._thread = Thread(target=self._run, name=f"holdfast-push-{self._name}", daemon=True)
            self._thread.start()
        if is_first or self._nbytes >= FLUSH_BYTES:
            self._changed.notify_all()

    def _run(self) -> None:
        while group := self._next_group():
            started = time.monotonic()
            self._flush([push for push in group if push.future.set_running_or_notify_cancel()])
            self._last_took = time.monotonic() - started

    def _next_group(self) -> list[Push]:
        """What is due, when it is; nothing when the log is closing and all is done."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._is_closing)
            while self._pending and not self._is_closing and self._nbytes < FLUSH_BYTES:
                if (left := self._due - time.monotonic()) <= 0:
                    break
                self._changed.wait(left)
            group, self._pending, self._nbytes = self._pending, [], 0
            self._changed.notify_all()
            return group
