"""What the threads of a delivery share: the ledger behind one lock, the phase, and what is durable.

Everything here is read and changed under `lock`. It does no I/O. Threads wait on conditions of that one lock: the
conductor on `due`, a lane's workers on the lane's own, callers on `news`.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from enum import Enum
from threading import Condition, RLock
from typing import TYPE_CHECKING

from holdfast.ledger.ledger import Ledger, Phase
from holdfast.model.errors import LifecycleRefused, PipelineFailed, PipelineFenced

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from holdfast.deliver.clock import Clock
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.ports import PublishedBatch
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.cursors import Cursors

logger = logging.getLogger(__name__)


class Halted(BaseException):
    """The work of a thread is over: its lane was removed, or the delivery has ended. Nobody handles it on its way."""


class DeliveryPhase(Enum):
    """What a delivery is doing."""

    OPENING = "opening"
    RUNNING = "running"
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"
    """Something failed that trying again cannot mend. Nothing new is sent; answers under way are still recorded."""
    FENCED = "fenced"
    """Another process owns the pipeline. Nothing is written any more."""
    CRASHED = "crashed"
    """A thread of ours died. Nothing is written any more."""


_SILENT = frozenset({DeliveryPhase.FENCED, DeliveryPhase.CRASHED})
_BROKEN = frozenset({DeliveryPhase.FAILED, *_SILENT})


class Core:
    """The state that lanes, conductor and callers share."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.lock = RLock()
        self.due = Condition(self.lock)
        self.news = Condition(self.lock)
        self.phase = DeliveryPhase.OPENING
        self.failure: BaseException | None = None
        """Why the delivery failed, was fenced or crashed."""
        self.durable: Cursors | None = None
        """The cursors that are on disk."""
        self.trouble: Exception | None = None
        """What the conductor stumbles over just now; it tries again."""
        self.answers_wait = False
        """While an operation needs the cursors on disk to be the current ones."""
        self.creation_waits = False
        """While a lane that starts at `now` is being added."""
        self.rows_of: dict[int, int] = {}
        """How many rows each batch has that is still kept."""
        self.captured_at: dict[int, datetime] = {}
        """When the last event of each batch that is still kept was captured, as far as that is known."""
        self.lanes: dict[str, DeliveryLane] = {}
        """The lanes that the ledger knows."""
        self.detached: dict[str, SinkSpec] = {}
        """The sinks that are left out until somebody attaches them again."""
        self.bells: set[Condition] = set()
        """What the workers of all lanes wait on, also of those that are not yet or no longer the ledger's."""
        self.is_over = False
        """Whether the ledger was stopped: what is left to do is to write that down."""
        self.is_abandoned = False
        """Whether the owner wants nothing more to be written, not even how it ended."""
        self._ledger: Ledger | None = None

    # The ledger

    @property
    def ledger(self) -> Ledger:
        """The ledger; there is one as soon as the delivery has begun to run."""
        if self._ledger is None:
            raise LifecycleRefused(
                "The delivery was not started, so it has no lanes yet.", remedy="Start it first, once."
            )
        return self._ledger

    @ledger.setter
    def ledger(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def has_ledger(self) -> bool:
        """Whether the lanes' starting points are decided."""
        return self._ledger is not None

    def is_opened(self) -> bool:
        """Whether the cursors on disk name every lane and hold no stop record (the shell's first rule)."""
        on_disk = self.durable
        return on_disk is not None and on_disk.stop is None and self.ledger.lanes.keys() <= on_disk.delivered.keys()

    def may_send(self) -> bool:
        """Whether a batch may be sent for the first time."""
        return self.phase is DeliveryPhase.RUNNING and self.is_opened()

    def may_create(self) -> bool:
        """Whether a batch may be created."""
        return self.ledger.phase is not Phase.RUNNING or (self.is_opened() and not self.creation_waits)

    def is_durable(self) -> bool:
        """Whether the cursors on disk are the current ones."""
        return self.has_ledger and self.durable == self.ledger.cursors()

    def note(self, batch: PublishedBatch, captured_at: datetime | None) -> None:
        """What is told of a batch besides where it is."""
        self.rows_of[batch.oseq] = batch.rows
        if captured_at is not None:
            self.captured_at[batch.oseq] = captured_at

    def forget(self, through: int) -> None:
        """The outbox forgets the batches up to this one."""
        with self.lock:
            self.rows_of = {oseq: rows for oseq, rows in self.rows_of.items() if oseq > through}
            self.captured_at = {oseq: time for oseq, time in self.captured_at.items() if oseq > through}

    def age_of(self, oseq: int) -> float | None:
        """Seconds since the last event of a batch was captured; None when nobody knows when that was."""
        with self.lock:
            captured_at = self.captured_at.get(oseq)
        return None if captured_at is None else max(0.0, (self.clock.now() - captured_at).total_seconds())

    @contextmanager
    def holding_creation(self) -> Iterator[None]:
        """Nothing is created meanwhile, so that `now` keeps its meaning."""
        with self.changing():
            self.creation_waits = True
        try:
            yield
        finally:
            with self.changing():
                self.creation_waits = False

    # Waiting and waking

    def wait_for(self, holds: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait for news until something holds; False when the time is up before."""
        with self.lock:
            until = None if seconds is None else self.clock.monotonic() + seconds
            while not holds():
                left = None if until is None else until - self.clock.monotonic()
                if left is not None and left <= 0:
                    return False
                self.clock.wait(self.news, left)
            return True

    def wait_while_well(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, for as long as the delivery is well."""

        def holds_or_raises() -> bool:
            self.check()
            return holds()

        self.wait_for(holds_or_raises)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock to change something, and wake everybody at the end."""
        with self.lock:
            yield
            self.ring()

    def ring(self) -> None:
        """Wake everybody: something changed that may concern them."""
        self.due.notify_all()
        self.news.notify_all()
        for bell in self.bells:
            bell.notify_all()

    # Ending

    @property
    def has_ended(self) -> bool:
        """Whether nothing more may be sent or answered."""
        return self.is_over or self.is_silent

    @property
    def is_silent(self) -> bool:
        """Whether nothing more may be written either."""
        return self.phase in _SILENT or self.is_abandoned

    def end(self) -> None:
        """The ledger was stopped. A failure stays to be seen."""
        with self.changing():
            self.is_over = True
            if self.phase not in _BROKEN:
                self.phase = DeliveryPhase.STOPPED

    def abandon(self) -> None:
        """Nothing more is to be written."""
        with self.changing():
            self.is_abandoned = True
            if self.phase not in _BROKEN:
                self.phase = DeliveryPhase.STOPPED

    def fail(self, error: BaseException) -> None:
        """The pipeline cannot go on. The first failure stays."""
        with self.lock:
            if not self.has_ended and self.phase is not DeliveryPhase.FAILED:
                self._break(DeliveryPhase.FAILED, error)

    def fence(self, error: BaseException) -> None:
        """Another process has taken over."""
        with self.lock:
            if not self.is_silent:
                self._break(DeliveryPhase.FENCED, error)

    def crash(self, error: BaseException) -> None:
        """A thread of ours died of something that is no answer of anybody."""
        with self.lock:
            if not self.is_silent:
                self._break(DeliveryPhase.CRASHED, error)

    def _break(self, phase: DeliveryPhase, error: BaseException) -> None:
        logger.error("delivery is %s: %s", phase.value, error)
        self.phase, self.failure = phase, error
        self.ring()

    def check(self) -> None:
        """Raise what the caller must know: the delivery failed, was fenced or crashed."""
        match self.phase:
            case DeliveryPhase.FAILED:
                raise PipelineFailed(
                    f"Delivery has failed: {self.failure}",
                    kept="Nothing was lost: every batch is in the outbox until its sinks have it.",
                    remedy="Mend the cause and start the pipeline again.",
                ) from self.failure
            case DeliveryPhase.FENCED:
                raise PipelineFenced(
                    f"Another process owns the pipeline: {self.failure}",
                    kept="Nothing was written after that.",
                    remedy="Stop this instance, or the other one and start this one again.",
                ) from self.failure
            case DeliveryPhase.CRASHED if self.failure is not None:
                raise self.failure
            case _ if self.is_abandoned:
                raise LifecycleRefused("The delivery was abandoned.", remedy="Start the pipeline again.")
            case _:
                return
