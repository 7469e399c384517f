"""Lets one receiver take events into its inbox, until it is told to stop.

The receiver works in threads of its own; the one here starts it, tries again while that is not possible, and forgets
idempotency keys that are too many. What a receiver has of the inbox is the `Intake`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from holdfast.capture.contract import Receiver
from holdfast.capture.runner import Capture, CaptureState, CaptureStatus, Reach
from holdfast.model.errors import (
    InvalidAppend,
    LogClosed,
    LogFull,
    LogReadOnly,
    LogUnavailable,
    ReceiverStopping,
    SourceUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    import pyarrow as pa

    from holdfast.capture.contract import Input
    from holdfast.log.inbox import Inbox
    from holdfast.log.keys import Key
    from holdfast.log.values import Appended

_PASSES = (LogFull, LogReadOnly, LogUnavailable)
_ITS_OWN_FAULT = (InvalidAppend, LogClosed)
_TROUBLE_LASTS = 2.0
"""So long after a push failed for want of disk the receiver says that it is in trouble; then somebody may try again."""
_KEYS_AT_ONCE = 1000
"""Keys are forgotten in groups of this size: one by one would cost too much. One more group is kept than is asked for,
because an event can be in the inbox a moment before its key is counted."""


class Intake:
    """The way into the inbox. Its methods may be called from any thread, and none waits for the disk."""

    def __init__(self, inbox: Inbox, failed: Callable[[BaseException], None]) -> None:
        self._inbox = inbox
        self.failed = failed
        """To be told what ends the receiver."""
        self.taken = 0
        """Events made durable."""
        self.keys = 0
        """Pushes with a key that were new: one that comes again uses no further key."""
        self.is_closing = False
        self._trouble: tuple[float, Exception] | None = None

    def push(self, events: pa.RecordBatch, keys: Sequence[Key] | None = None) -> Future[Appended]:
        """Hand in whole transactions; durable when the future is done. Raises at once what says that there is no room.

        `LogQuota` when the inbox is full, `ReceiverStopping` when the pipeline is about to stop. The future fails with
        what kept the events from becoming durable: then none of them is in the inbox.
        """
        self.check()
        future = self._inbox.push(events, keys=keys, timeout=0)
        future.add_done_callback(partial(self._note, has_key=keys is not None))
        return future

    def check(self) -> None:
        """`ReceiverStopping` when nothing is taken in any more."""
        if self.is_closing:
            raise ReceiverStopping("The pipeline is stopping.", remedy="Push again when it runs.")

    def state(self) -> CaptureState:
        """Whether a push would be taken in now."""
        if self.is_closing:
            return CaptureState.STOPPED
        if self.trouble is not None:
            return CaptureState.RETRYING
        return CaptureState.READING if self._inbox.has_room() else CaptureState.BLOCKED

    @property
    def trouble(self) -> Exception | None:
        """What the disk said to a push a moment ago."""
        if self._trouble is None or time.monotonic() - self._trouble[0] > _TROUBLE_LASTS:
            return None
        return self._trouble[1]

    def _note(self, pushed: Future[Appended], *, has_key: bool) -> None:
        """Called by the one thread that makes pushes durable."""
        if pushed.cancelled():
            return
        match pushed.exception():
            case None:
                self.taken += pushed.result().rows
                self.keys += has_key and pushed.result().rows > 0
                self._trouble = None
            case Exception() as error if isinstance(error, _PASSES):
                self._trouble = (time.monotonic(), error)
            case BaseException() as error if not isinstance(error, _ITS_OWN_FAULT):
                self.failed(error)


class Reception:
    """A receiver at work. It is used as a `Capture` is."""

    def __init__(
        self,
        receiver: Receiver,
        inbox: Inbox,
        *,
        failed: Callable[[BaseException], None],
        reach: Reach = Reach.END,
        poll: float = 0.05,
        retry_pause: float = 0.5,
    ) -> None:
        self.source = receiver
        self._reach = reach
        self.inbox = inbox
        self._intake = Intake(inbox, self._fail)
        self._failed = failed
        self._poll = poll
        self._retry_pause = retry_pause
        self._stop = threading.Event()
        self._stopping = threading.RLock()
        self._keys = KeptKeys(inbox, receiver.keys_kept)
        self._error: str | None = None
        self._has_failed = False
        self._thread = threading.Thread(target=self._run, name=f"capture-{receiver.name}", daemon=True)

    def start(self) -> None:
        """Let the receiver take in; not when only what was pushed before is wanted."""
        if self._reach is Reach.END:
            self._thread.start()

    def stop(self) -> None:
        """Take in nothing more; what was taken in is in the inbox and answered when this returns."""
        self._intake.is_closing = True
        self._stop.set()
        with self._stopping:
            if self._thread.is_alive() and self._thread is not threading.current_thread():
                self._thread.join()
            self.source.stop()

    def status(self) -> CaptureStatus:
        """Where it stands now."""
        intake, error = self._intake, self._error
        state = CaptureState.FAILED if self._has_failed else intake.state()
        if error is None and intake.trouble is not None:
            error = str(intake.trouble)
        elif error is not None and state is CaptureState.READING:
            state = CaptureState.RETRYING
        return CaptureStatus(self.source.name, state, intake.taken, self.inbox.end(), error, self.source.boundary())

    @property
    def finished(self) -> bool:
        """Whether nobody can push any more: never, unless only what was pushed before is wanted."""
        return self._reach is Reach.NOW

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and not self._works(lambda: self.source.serve(self._intake)):
                self._stop.wait(self._retry_pause)
            while not self._stop.wait(self._poll):
                self._works(lambda: self._keys.tend(self._intake.keys))
        except BaseException as error:  # a thread must not end without a word
            self._fail(error)

    def _works(self, action: Callable[[], None]) -> bool:
        """Do something, and say whether it was possible now."""
        try:
            action()
        except (SourceUnavailable, *_PASSES) as error:
            self._error = str(error)
            return False
        self._error = None
        return True

    def _fail(self, error: BaseException) -> None:
        self._has_failed, self._error = True, str(error)
        self._failed(error)


def capture_of(
    given: Input, inbox: Inbox, *, failed: Callable[[BaseException], None], reach: Reach = Reach.END
) -> Capture | Reception:
    """What brings an input into its inbox."""
    if isinstance(given, Receiver):
        return Reception(given, inbox, failed=failed, reach=reach)
    return Capture(given, inbox, failed=failed, reach=reach)


class KeptKeys:
    """Bounds the idempotency keys of an inbox: the newest `count` are always kept, older ones are forgotten in groups.

    Keys above `count` stay until a whole group can go, so the inbox holds about three groups more than `count`.
    """

    def __init__(self, inbox: Inbox, count: int) -> None:
        self._inbox = inbox
        self._count = count
        self._marks: deque[tuple[int, int]] = deque()
        """How many keys had been used when the inbox ended at which event, one entry per group."""

    def tend(self, used: int) -> None:
        """Forget what is too much, after so many keys were used.

        :param used: new keys only; a repetition that counted would push keys out that are still among the newest.
        """
        if not self._marks:
            self._inbox.keep_keys(self._count)
        elif used - self._marks[-1][0] < _KEYS_AT_ONCE:
            return
        while self._marks and used - self._marks[0][0] >= self._count + _KEYS_AT_ONCE:
            self._inbox.forget_keys(self._marks[0][1])
            self._marks.popleft()
        self._marks.append((used, self._inbox.end()))
