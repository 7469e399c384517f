"""Acknowledges to each source how far it may forget: committed by the policy, and synced in Spark's checkpoint.

Every source has a thread of its own, so one that fails or hangs delays neither the other sources nor anything else of
the run. A failed acknowledgement is retried with decorrelated jitter for as long as the run lasts, and then with the
newest position: a late acknowledgement is always safe. It never ends the run.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.model.clock import utc_now
from holdfast.model.positions import earliest
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from holdfast.capture.contract import Input
    from holdfast.model.positions import Position

log = logging.getLogger("holdfast")

PAUSES = RetryPolicy(base=0.1, cap=30.0)
"""The pauses between two attempts; the budget of the policy is not used, because there is no end of trying."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """What a source was told, and why it could not be told more."""

    position: Position | None = None
    """The last position that the source has taken."""
    error: str | None = None
    """Why the newest attempt failed; None when it did not."""
    failing_since: datetime | None = None
    attempts: int = 0
    """How many attempts have failed since then."""


@dataclass(slots=True, eq=False)
class _Pending:
    """One source: how far it may forget as far as each of the two conditions is concerned."""

    source: Input
    committed: Position | None = None
    synced: Position | None = None
    settled: tuple[Position, Position] | None = None
    """The two positions of which the earlier one was acknowledged last."""
    tries: Tries = field(default_factory=lambda: Tries(PAUSES))
    not_before: float = 0.0
    known: Acknowledgement = field(default_factory=Acknowledgement)

    def due(self) -> tuple[Position, Position] | None:
        """The two positions to acknowledge the earlier of; None while one is unknown or nothing has changed."""
        if self.committed is None or self.synced is None:
            return None
        both = (self.committed, self.synced)
        return None if both == self.settled else both


class SourceAcknowledger:
    """Acknowledges to the sources of one run.

    :param pauses: the pauses between two attempts at one source.
    """

    def __init__(
        self,
        sources: Iterable[Input],
        *,
        hook: StepHook = no_hook,
        pauses: RetryPolicy = PAUSES,
        random: Random | None = None,
    ) -> None:
        self._pending = {source.name: _Pending(source, tries=Tries(pauses)) for source in sources}
        self._hook = hook
        self._pauses = pauses
        self._random = random or Random()
        self._changed = threading.Condition()
        self._is_stopping = False
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to acknowledge."""
        for name, pending in self._pending.items():
            thread = threading.Thread(target=self._run, args=(pending,), name=f"acknowledge-{name}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def committed(self, positions: Mapping[str, Position]) -> None:
        """The commit policy is met up to these positions, and that is on disk."""
        with self._changed:
            for name in positions.keys() & self._pending:
                self._pending[name].committed = positions[name]
            self._changed.notify_all()

    def synced(self, positions: Mapping[str, Position]) -> None:
        """Spark's checkpoint is on disk up to these positions."""
        with self._changed:
            for name in positions.keys() & self._pending:
                self._pending[name].synced = positions[name]
            self._changed.notify_all()

    def status(self) -> dict[str, Acknowledgement]:
        """By the name of each source, what it was told."""
        with self._changed:
            return {name: pending.known for name, pending in self._pending.items()}

    def stop(self, patience: float) -> None:
        """Acknowledge nothing more. A source that does not come back by then is left behind."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify_all()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _run(self, pending: _Pending) -> None:
        while (both := self._wait_for_work(pending)) is not None:
            try:
                position = earliest(both)
                if position != pending.known.position:
                    self._hook(Step.SOURCE_ACKNOWLEDGE)
                    pending.source.acknowledge(position)
                    self._hook(Step.SOURCE_ACKNOWLEDGED)
            except Exception as error:
                self._note_failure(pending, error)
            else:
                self._note_success(pending, both, position)

    def _wait_for_work(self, pending: _Pending) -> tuple[Position, Position] | None:
        """What is to be acknowledged now; None when the run is over."""
        with self._changed:
            while not self._is_stopping:
                both, left = pending.due(), pending.not_before - time.monotonic()
                if both is not None and left <= 0:
                    return both
                self._changed.wait(None if both is None else left)
            return None

    def _note_failure(self, pending: _Pending, error: Exception) -> None:
        tries = pending.tries.after_failure(time.monotonic(), self._random)
        log.warning(
            "source %s could not be acknowledged, so it keeps what it might forget; retrying in %.1f s: %s",
            pending.source.name,
            tries.pause,
            _told(error),
        )
        with self._changed:
            pending.tries, pending.not_before = tries, time.monotonic() + tries.pause
            since = pending.known.failing_since or utc_now()
            pending.known = Acknowledgement(pending.known.position, _told(error), since, tries.failed)

    def _note_success(self, pending: _Pending, both: tuple[Position, Position], position: Position) -> None:
        if pending.known.error is not None:
            log.warning("source %s is acknowledged again, up to %s", pending.source.name, position)
        with self._changed:
            pending.settled = both
            pending.tries, pending.not_before = Tries(self._pauses), 0.0
            pending.known = Acknowledgement(position)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
