"""Faults for recording sinks: errors from a list, gates that a test opens, and a step at which the process dies."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from holdfast.model.errors import CommitUnknown, CursorMoved, Fatal, Throttled, Transient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.deliver import SinkBatch

LIMIT = 20.0
"""Real seconds after which a test that waits has failed."""


def transient() -> Transient:
    return Transient("The sink is away.", remedy="Try again.")


def throttled(seconds: float) -> Throttled:
    return Throttled("Too much.", remedy="Wait.", retry_after=seconds)


def unknown() -> CommitUnknown:
    return CommitUnknown("The connection broke.", remedy="Look into the sink.")


def fatal() -> Fatal:
    return Fatal("Access was revoked.", remedy="Grant it again.")


def moved() -> CursorMoved:
    return CursorMoved("The sink was restored from an older copy.", remedy="Start the pipeline again.")


class Errors:
    """Raises one error after the other, then none: a sink's `before` or `after`."""

    def __init__(self, *errors: Exception) -> None:
        self._left = list(errors)

    def __call__(self, _: SinkBatch) -> None:
        if self._left:
            raise self._left.pop(0)


class Doors:
    """Lets chosen batches wait inside the sink until the test opens their door."""

    def __init__(self, oseqs: Iterable[int]) -> None:
        self._doors = {oseq: threading.Event() for oseq in oseqs}
        self._inside: set[int] = set()
        self._changed = threading.Condition()

    def __call__(self, batch: SinkBatch) -> None:
        if batch.oseq in self._doors:
            with self._changed:
                self._inside.add(batch.oseq)
                self._changed.notify_all()
            assert self._doors[batch.oseq].wait(LIMIT), f"nobody opened the door of batch {batch.oseq}"

    def open(self, *oseqs: int) -> None:
        for oseq in oseqs or self._doors:
            self._doors[oseq].set()

    def wait_inside(self, *oseqs: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._inside >= set(oseqs), LIMIT), f"only {self._inside} came"


class Crash(BaseException):
    """The process is gone."""


class Dying:
    """A step hook that ends the process when a step is reached for the k-th time, and lets nothing happen after it."""

    def __init__(self, step: str | None = None, occurrence: int = 1) -> None:
        self._step = step
        self._occurrence = occurrence
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.died = False

    def __call__(self, step: str, /) -> None:
        with self._lock:
            if self.died:
                raise Crash(step)
            self.seen[str(step)] += 1
            if step == self._step and self.seen[str(step)] == self._occurrence:
                self.died = True
                raise Crash(step)
