"""Reads one source into its inbox, in a thread, until it is told to stop or the source ends.

Capture resumes from the last whole transaction in the inbox, never from a checkpoint, so a crash between reading and
appending repeats nothing and skips nothing. It blocks while the inbox has no room: that is how back-pressure reaches
the source. An append costs a sync however small it is, so after a small one capture pauses for a moment and then takes
in everything that came; the first event after a silence is appended at once.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.capture.framing import framed, joined
from holdfast.model.errors import (
    HoldfastError,
    LogFull,
    LogQuota,
    LogReadOnly,
    LogUnavailable,
    SourceFailed,
    SourceUnavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from holdfast.capture.contract import Boundary, Captured, Source
    from holdfast.log.inbox import Inbox
    from holdfast.model.positions import Position

log = logging.getLogger("holdfast")

_MUCH = 64 * 1024
"""Bytes that are appended without waiting for more, and after which more is read at once."""


class CaptureState(Enum):
    """What a capture is doing."""

    READING = "reading"
    BLOCKED = "blocked: the inbox has no room"
    RETRYING = "retrying"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


class Reach(Enum):
    """How far a source is read."""

    END = "to its end, if it has one"
    NOW = "to what it has when it is opened"


@dataclass(frozen=True, slots=True)
class CaptureStatus:
    """Where a capture stands."""

    source: str
    state: CaptureState
    captured: int
    """Events appended by this process."""
    end: int
    """The last event in the inbox."""
    error: str | None = None
    boundary: Boundary | None = None
    """What came and what was answered, for a source that is pushed to."""
    silent: float = 0.0
    """Seconds for which the source has not come back from being opened or read; 0 when nobody waits for it."""
    is_stalled: bool = False
    """Whether that is longer than the source says it may take."""


class Capture:
    """The thread of one source."""

    def __init__(
        self,
        source: Source,
        inbox: Inbox,
        *,
        failed: Callable[[BaseException], None],
        reach: Reach = Reach.END,
        poll: float = 0.05,
        retry_pause: float = 0.5,
        pause: float = 0.02,
    ) -> None:
        """A capture that is not started yet.

        :param pause: seconds before the next read when little came.
        """
        self.source = source
        self.inbox = inbox
        self._failed = failed
        self._reach = reach
        self._poll = poll
        self._retry_pause = retry_pause
        self._pause = pause
        self._stop = threading.Event()
        self._stopping = threading.Lock()
        self._is_closed = False
        self._opened = False
        self._latest: Position | None = None
        """Where the source ended when it was first opened, if it said so."""
        self._begun: Captured | None = None
        """The beginning of a transaction of which more is to come."""
        self._state = CaptureState.READING
        self._captured = 0
        self._error: str | None = None
        self._asked_at: float | None = None
        """When the call began that the source has not come back from."""
        self._thread = threading.Thread(target=self._run, name=f"capture-{source.name}", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reading; what was read is in the inbox, and the source closed once, when this returns.

        Several threads may stop a capture. A source that hangs is left behind: what it still gives is taken in after
        the next start.
        """
        self._stop.set()
        with self._stopping:
            if self._is_closed:
                return
            while self._thread.is_alive():
                self._thread.join(self._poll)
                if self.status().is_stalled:
                    log.warning("source %s hangs and is left behind", self.source.name)
                    return
            self._is_closed = True
            self._close_source()

    def status(self) -> CaptureStatus:
        """Where it stands now."""
        asked_at = self._asked_at
        silent = 0.0 if asked_at is None else time.monotonic() - asked_at
        return CaptureStatus(
            self.source.name,
            self._state,
            self._captured,
            self.inbox.end(),
            self._error,
            silent=silent,
            is_stalled=silent > self.source.stalled_after,
        )

    @property
    def finished(self) -> bool:
        """Whether everything that is to be read is in the inbox: all the source will ever have, or has now."""
        return self._state is CaptureState.FINISHED

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and self._state is not CaptureState.FINISHED:
                self._read_until_trouble()
        except BaseException as error:  # a thread must not end without a word
            self._state, self._error = CaptureState.FAILED, str(error)
            self._failed(error)
            return
        if self._state is not CaptureState.FINISHED:
            self._state = CaptureState.STOPPED

    def _read_until_trouble(self) -> None:
        try:
            self._begun = None
            self.inbox.forget_unfinished()
            with self._asking():
                self.source.open(self.inbox.position())
            self._note_latest()
            is_dry = False
            while not self._stop.is_set():
                if self._is_at_its_end() or self._has_reached(is_dry):
                    self._state = CaptureState.FINISHED
                    return
                is_dry = not self._read_on()
        except (SourceUnavailable, SourceFailed, LogFull, LogReadOnly, LogUnavailable) as error:
            self._close_source()
            self._retry_after(error)

    def _close_source(self) -> None:
        """Close the source. One that fails to close is opened again all the same, or left behind."""
        try:
            with self._asking():
                self.source.close()
        except HoldfastError as error:
            log.warning("source %s could not be closed: %s", self.source.name, error)

    def _note_latest(self) -> None:
        """What was available at first stays what is to be read, also when the source has to be opened again."""
        if self._reach is Reach.NOW and not self._opened:
            with self._asking():
                self._latest, self._opened = self.source.latest(), True

    def _is_at_its_end(self) -> bool:
        with self._asking():
            return self.source.finished

    def _has_reached(self, is_dry: bool) -> bool:
        """Whether what was available is in the inbox."""
        if self._latest is None:
            return self._reach is Reach.NOW and is_dry
        position = self.inbox.position()
        return position is not None and self._ends_what_was_there(position)

    def _ends_what_was_there(self, position: Position) -> bool:
        """Whether everything that was available is read at this position."""
        return self._latest is not None and position.at_or_after(self._latest)

    def _read_on(self) -> bool:
        """Take in what there is, also when the source breaks off behind it; False if there was nothing."""
        read: list[Captured] = []
        try:
            self._gather(read)
            self._note_recovery()
        finally:
            self._take(read)
        return bool(read)

    def _note_recovery(self) -> None:
        """The source answers again, if only that there is nothing new."""
        if self._state is CaptureState.RETRYING:
            self._state, self._error = CaptureState.READING, None

    def _gather(self, read: list[Captured]) -> None:
        """Wait for the first events, and read what is there behind them."""
        size = 0
        until = time.monotonic() + self._poll
        captured = self._read(self._poll)
        while captured is not None:
            read.append(captured)
            size += captured.events.nbytes
            is_all = self._is_at_its_end() or self._ends_what_was_there(captured.position)
            if is_all or size >= _MUCH or time.monotonic() >= until or self._stop.is_set():
                break
            captured = self._read(0)

    def _read(self, wait: float) -> Captured | None:
        with self._asking():
            return self.source.read(wait)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """While the source is asked for something, it is known since when. Any error that it raises is one of ours."""
        self._asked_at = time.monotonic()
        try:
            yield
        except HoldfastError:
            raise
        except Exception as error:
            log.debug("source %s failed", self.source.name, exc_info=True)
            raise _failed(self.source.name, error) from error
        finally:
            self._asked_at = None

    def _take(self, read: list[Captured]) -> None:
        if read:
            whole, self._begun = framed(joined([self._begun, *read] if self._begun else read))
            self._append(whole)
            if whole.events.nbytes < _MUCH:
                self._stop.wait(self._pause)

    def _append(self, captured: Captured) -> None:
        """Append what was read, if need be again and again: a source need not have it a second time."""
        while not self._stop.is_set():
            try:
                appended = self.inbox.append(captured.events, position=captured.position, timeout=self._poll)
            except LogQuota as error:
                self._state, self._error = CaptureState.BLOCKED, str(error)
                continue
            except (LogFull, LogReadOnly, LogUnavailable) as error:
                self._retry_after(error)
                continue
            self._captured += appended.rows
            self._tell_source()
            self._state, self._error = CaptureState.READING, None
            return

    def _tell_source(self) -> None:
        position = self.inbox.position()
        if position is not None:
            with self._asking():
                self.source.captured(position)

    def _retry_after(self, error: HoldfastError) -> None:
        if self._error != str(error):
            log.warning("source %s is retried in %g s: %s", self.source.name, self._retry_pause, error)
        self._state, self._error = CaptureState.RETRYING, str(error)
        self._stop.wait(self._retry_pause)


def _failed(source: str, error: Exception) -> SourceFailed:
    return SourceFailed(
        f"Source {source!r} failed with {type(error).__name__}: {error}.",
        kept="What was read before is in the inbox.",
        remedy="It is opened and read again by itself. If that does not help, mend the source; `--log-level debug` "
        "logs where it failed.",
        source=source,
    )
