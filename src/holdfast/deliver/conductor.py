"""Executes what the ledger decides, in order, in one thread.

At most one write of cursors is under way; what is answered meanwhile goes into the next one, so many answers share a
write. With a cadence, answers gather for that long between two writes. A decision that cannot be executed is tried
again before those behind it, except that a write makes room for a newer one.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from holdfast.deliver.classify import Verdict, classify_durable
from holdfast.deliver.core import Halted
from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.ledger.decisions import Acknowledge, DeadLetter, Decision, Release, Retry, Vanished, WriteCursors
from holdfast.model.errors import PipelineFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from holdfast.deliver.core import Core
    from holdfast.deliver.keeping import CursorKeeper
    from holdfast.deliver.operations import Operations
    from holdfast.deliver.ports import Outbox
    from holdfast.model.positions import Position

logger = logging.getLogger(__name__)

_PAUSES = RetryPolicy(base=0.05, cap=5.0)


class Conductor:
    """The one thread that makes decisions durable."""

    def __init__(
        self,
        core: Core,
        *,
        keeper: CursorKeeper,
        committed: Callable[[Mapping[str, Position]], None],
        operations: Operations,
        outbox: Outbox,
        random: Random,
        cadence: float = 0.0,
    ) -> None:
        self._core = core
        self._keeper = keeper
        self._committed = committed
        self._operations = operations
        self._outbox = outbox
        self._random = random
        self._cadence = cadence
        self._write_at = 0.0
        self._due: deque[Decision] = deque()
        self._give_up_at: float | None = None

    def execute_first(self) -> None:
        """Write the first cursors, before anything is created or sent. What fails is the caller's to handle."""
        self._collect()
        while self._due:
            self._execute(self._due[0])
            self._due.popleft()

    def run(self) -> None:
        """Execute decisions until the delivery is over and everything is written."""
        try:
            while self._wait_for_work():
                self._round()
        finally:
            self._operations.refuse_all()

    def give_up_after(self, seconds: float) -> None:
        """How long the last writes may still be tried."""
        with self._core.changing():
            self._give_up_at = self._core.clock.monotonic() + seconds

    # Rounds

    def _wait_for_work(self) -> bool:
        core = self._core
        with core.lock:
            while not core.is_silent:
                self._collect()
                if self._due or self._operations:
                    return True
                if core.is_over:
                    return False
                core.clock.wait(core.due, None)
            return False

    def _round(self) -> None:
        with self._core.lock:
            is_operating = self._operations.begin()
            self._collect()
        while self._due:
            self._execute_patiently(self._due[0])
            self._due.popleft()
        if is_operating:
            self._operations.do_next()

    def _collect(self) -> None:
        with self._core.lock:
            self._due.extend(self._core.ledger.decisions())

    # Decisions

    def _execute_patiently(self, decision: Decision) -> None:
        tries = Tries(_PAUSES)
        if isinstance(decision, WriteCursors):
            self._let_answers_gather()
            if self._is_superseded(decision):
                return
        while True:
            try:
                self._execute(decision)
            except Exception as error:
                self._give_up_unless_it_passes(error)
                tries = tries.after_failure(self._core.clock.monotonic(), self._random)
            else:
                self._note(None)
                return
            self._pause(tries.pause)
            if self._is_superseded(decision):
                return

    def _let_answers_gather(self) -> None:
        """Wait until the next write is due, unless somebody waits for it: a new lane, an operator, or the end."""
        core = self._core
        with core.lock:
            while core.is_opened() and not (core.has_ended or self._operations):
                left = self._write_at - core.clock.monotonic()
                if left <= 0:
                    return
                core.clock.wait(core.due, left)
            if core.is_silent:
                raise Halted

    def _is_superseded(self, decision: Decision) -> bool:
        """Whether newer cursors wait behind these: then these need not be written."""
        self._collect()
        return isinstance(decision, WriteCursors) and any(
            isinstance(later, WriteCursors) for later in self._due if later is not decision
        )

    def _execute(self, decision: Decision) -> None:
        match decision:
            case WriteCursors(cursors):
                self._keeper.write(cursors)
                self._write_at = self._core.clock.monotonic() + self._cadence
            case Acknowledge(positions):
                self._committed(positions)
            case Release(through):
                self._outbox.release(through)
                self._core.forget(through)
            case DeadLetter(lane, oseq):
                self._see_that_rows_are_dead_letters(lane, oseq)
            case Vanished(lane, oseq):
                logger.warning("lane %s: nobody knows what became of batch %d; it is held", lane, oseq)
            case Retry():
                pass  # the worker that carries the batch waits out the pause

    def _see_that_rows_are_dead_letters(self, name: str, oseq: int) -> None:
        """A lane records rejected rows before it rejects the batch: no cursor is written unless they are there."""
        lane = self._core.lanes.get(name)
        if lane is not None and not lane.dead_letters.rejected(oseq):
            raise PipelineFailed(
                f"Lane {name!r} rejected batch {oseq}, but the dead letters have no row of it.",
                kept="No cursor was written past the batch.",
                remedy="The dead letters were lost or replaced: restore them and start again.",
                lane=name,
                oseq=oseq,
            )

    # Trouble

    def _give_up_unless_it_passes(self, error: Exception) -> None:
        core = self._core
        self._operations.postpone()
        match classify_durable(error):
            case Verdict.LATER if self._give_up_at is None or core.clock.monotonic() < self._give_up_at:
                self._note(error)
                return
            case Verdict.LATER:
                self._note(error)
            case Verdict.FENCED:
                core.fence(error)
            case _:
                core.fail(error)
        raise Halted from error

    def _note(self, trouble: Exception | None) -> None:
        before = self._core.trouble
        if trouble is before:
            return
        if trouble is None:
            logger.info("decisions are executed again")
        elif str(trouble) != str(before):
            logger.warning("decisions wait: %s", trouble)
        with self._core.changing():
            self._core.trouble = trouble

    def _pause(self, seconds: float) -> None:
        core = self._core
        with core.lock:
            until = core.clock.monotonic() + seconds
            while not core.is_silent:
                left = min(until, self._give_up_at or until) - core.clock.monotonic()
                if left <= 0:
                    return
                core.clock.wait(core.due, left)
            raise Halted
