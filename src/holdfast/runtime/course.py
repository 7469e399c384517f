"""The life of one run, as its threads change it and wait for it. What may follow what, the lifecycle decides."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from holdfast.runtime.lifecycle import Life

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.runtime.lifecycle import State

log = logging.getLogger("holdfast.end")
"""Apart from the other loggers: `holdfast run` says itself, last of all, why the run ended."""

_TICK = 0.05


class Course:
    """Where a run is in its life."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._changed = threading.Condition()
        self._life = Life()

    @property
    def state(self) -> State:
        """What the pipeline is doing."""
        return self._life.state

    @property
    def error(self) -> BaseException | None:
        """What ended the run, if something did."""
        return self._life.error

    def check(self, state: State) -> None:
        """`LifecycleRefused` when this state may not follow."""
        self._life.to(state)

    def become(self, state: State) -> None:
        """Go over to another state; `LifecycleRefused` when it may not follow."""
        with self._changed:
            self._life = self._life.to(state)
            self._changed.notify_all()

    def end_by(self, error: BaseException) -> None:
        """This error ends the run, unless another one did before."""
        with self._changed:
            self._life = self._life.ended_by(error)
            self._changed.notify_all()
        log.error("pipeline %s is %s: %s", self._pipeline, self._life.state.value, error)

    def wait(self, holds: Callable[[], bool], timeout: float | None) -> bool:
        """Wait until the run is over or something holds; False when neither was so in time."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._life.state.is_over and not holds():
                if until is not None and time.monotonic() >= until:
                    return False
                self._changed.wait(_TICK)
        return True
