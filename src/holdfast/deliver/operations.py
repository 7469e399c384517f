"""What operators ask of a running delivery, done by the conductor between two writes of cursors.

A lane is removed, added, or the policy changed only while no write is under way and the cursors on disk are the current
ones (the shell's second rule). Answers of lanes wait for the length of that one write.
"""

from __future__ import annotations

import logging
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from holdfast.model.errors import LifecycleRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.deliver.core import Core
    from holdfast.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

T = TypeVar("T")


class _Operation(NamedTuple):
    do: Callable[[Ledger], None]
    refuse: Callable[[Exception], None]


class Operations:
    """The operations that wait for their moment."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._waiting: deque[_Operation] = deque()

    def when_durable(self, operation: Callable[[Ledger], T]) -> T:
        """Have something done with the ledger at such a moment, and wait for it."""
        done: Future[T] = Future()
        with self._core.lock:
            self._core.check()
            if self._core.has_ended:
                raise _over()
            self._waiting.append(_Operation(lambda ledger: _settle(done, operation, ledger), done.set_exception))
            self._core.due.notify_all()
        return done.result()

    def soon(self, operation: Callable[[Ledger], None]) -> None:
        """Have something done at such a moment, and do not wait. When there is none any more, it is not done."""

        def refused(error: Exception) -> None:
            logger.warning("an operation was not done: %s", error)

        def do(ledger: Ledger) -> None:
            try:
                operation(ledger)
            except Exception as error:
                refused(error)

        with self._core.lock:
            self._waiting.append(_Operation(do, refused))
            self._core.due.notify_all()

    def __bool__(self) -> bool:
        return bool(self._waiting) and not self._core.has_ended

    def begin(self) -> bool:
        """Let answers wait when somebody needs the cursors to stand still; says whether."""
        self._core.answers_wait = bool(self)
        return self._core.answers_wait

    def do_next(self) -> None:
        """Do the first one, if its moment is here, and let answers go on."""
        with self._core.lock:
            if self and self._core.is_durable():
                self._waiting.popleft().do(self._core.ledger)
            self.postpone()

    def postpone(self) -> None:
        """Its moment does not come just now: let answers go on."""
        with self._core.changing():
            self._core.answers_wait = False

    def refuse_all(self) -> None:
        """There is no such moment any more."""
        with self._core.lock:
            while self._waiting:
                self._waiting.popleft().refuse(_over())
            self.postpone()


def _settle(done: Future[T], operation: Callable[[Ledger], T], ledger: Ledger) -> None:
    try:
        done.set_result(operation(ledger))
    except Exception as refusal:
        done.set_exception(refusal)


def _over() -> LifecycleRefused:
    return LifecycleRefused(
        "The delivery is stopping or has stopped, so its lanes and policy can no longer be changed.",
        remedy="Change the pipeline's declaration and start it again.",
    )
