"""What the workers of one lane share: the sink behind its gate, the breaker, the counters, and how they wait.

Facts about batches live in the ledger; this is what the ledger does not need to know. Everything but the sink is used
under the core's lock.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Condition, Lock
from typing import TYPE_CHECKING, TypeVar

from holdfast.deliver.classify import Verdict, pause_asked_for, reason_of
from holdfast.deliver.contract import LaneIdentity
from holdfast.deliver.core import DeliveryPhase, Halted
from holdfast.deliver.gate import Gate
from holdfast.deliver.taps import Taps
from holdfast.flow.breaker import Breaker, Permit
from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.model.histogram import DurationHistogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from holdfast.deliver.classify import Reason
    from holdfast.deliver.core import Core
    from holdfast.deliver.deadletters import LaneDeadLetters
    from holdfast.deliver.job import Job
    from holdfast.deliver.spec import SinkSpec
    from holdfast.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class RowCounts:
    """What became of the rows of resolved batches: `read` is the sum of the rest."""

    read: int = 0
    out: int = 0
    dead: int = 0
    filtered: int = 0
    refused: int = 0


class DeliveryLane:
    """One sink and everything its workers need to agree on."""

    def __init__(
        self, spec: SinkSpec, identity: LaneIdentity, core: Core, dead_letters: LaneDeadLetters, random: Random
    ) -> None:
        self.spec = spec
        self.name = spec.name
        self.sink = spec.sink
        self.identity = identity
        self.core = core
        self.dead_letters = dead_letters
        self.random = random
        self.bell = Condition(core.lock)
        """What its workers wait on."""
        self.turn = Lock()
        """Held by the worker that looks for the next batch: the others deliver meanwhile."""
        self.gate = Gate()
        self.taps = Taps()
        self.breaker = Breaker(spec.breaker)
        self.is_open = False
        self.cursor: int | None = None
        """What the sink said when it was opened; None when it keeps no cursor."""
        self.workers = 0
        """How many of its threads run; the last one closes the sink."""
        self.halted = False
        """Whether the lane was removed."""
        self.failure: Exception | None = None
        """Why the lane cannot go on until somebody acts."""
        self.waiting = 0
        """How many of its workers wait for a log of ours, as for dead letters that have no room; see `last_error`."""
        self.trying: dict[int, Tries] = {}
        """The batches that are with a worker, and how often each was tried."""
        self.keys_of: dict[int, frozenset[object] | None] = {}
        """For a disjoint sink: the keys of every batch that is with a worker."""
        self.rows = RowCounts()
        self.latency = DurationHistogram()
        """From the capture of a batch's last event to the sink's commit."""
        self.abandoned = 0
        self.last_error: Reason | None = None
        self.catching_up_to = 0
        """The newest batch at the time when the lane began, or began to move again."""

    @property
    def keeps_cursor(self) -> bool:
        """Whether the sink itself knows what it has."""
        return self.cursor is not None

    def may_send(self) -> bool:
        """Whether a batch may be sent for the first time: the sink is open and the lane is one of the ledger's."""
        return self.is_open and self.is_member and self.core.may_send()

    @property
    def is_member(self) -> bool:
        """Whether the lane is one of the ledger's: not any more, or not yet, otherwise."""
        return self.core.lanes.get(self.name) is self

    # Waiting: all of these raise Halted when the lane's work is over

    def check(self) -> None:
        """Raise Halted when nothing more is to be sent or answered."""
        if self.halted or self.core.has_ended or self.failure is not None:
            raise Halted

    def pause(self, seconds: float) -> None:
        """Wait for time to pass."""
        core = self.core
        with core.lock:
            until = core.clock.monotonic() + seconds
            while (left := until - core.clock.monotonic()) > 0:
                self.check()
                core.clock.wait(self.bell, left)
            self.check()

    def wait_for_permit(self) -> Permit:
        """Wait until the breaker lets a call through."""
        core = self.core
        with core.lock:
            while True:
                self.check()
                now = core.clock.monotonic()
                permit = self.breaker.admit(now)
                if permit is not None:
                    return permit
                core.clock.wait(self.bell, self.breaker.wait(now) or None)

    @contextmanager
    def answering(self) -> Iterator[Ledger]:
        """Change the ledger on behalf of this lane, and wake who may be concerned."""
        core = self.core
        with core.lock:
            while core.answers_wait:
                self.check()
                core.clock.wait(self.bell, None)
            self.check()
            yield core.ledger
            core.due.notify_all()
            core.news.notify_all()
            self.bell.notify_all()

    def patiently(
        self, work: Callable[[], T], judge: Callable[[Exception], Verdict], *, pace: RetryPolicy | None = None
    ) -> T:
        """Do something that is no attempt at a batch, again and again until it works or can never work.

        :param pace: the pauses, when they are not those of the sink.
        """
        try:
            return work()
        except Exception as error:
            self._give_up_unless_it_passes(error, judge(error))
            tries = self._after(error, Tries(pace or self.spec.retry))
        with self._waiting():
            while True:
                self.pause(tries.pause)
                try:
                    return work()
                except Exception as error:
                    self._give_up_unless_it_passes(error, judge(error))
                    tries = self._after(error, tries)

    def _after(self, error: Exception, tries: Tries) -> Tries:
        return tries.after_failure(self.core.clock.monotonic(), self.random, at_least=pause_asked_for(error))

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        with self.core.changing():
            self.waiting += 1
        try:
            yield
        finally:
            with self.core.changing():
                self.waiting -= 1

    def _give_up_unless_it_passes(self, error: Exception, verdict: Verdict) -> None:
        match verdict:
            case Verdict.LATER | Verdict.UNKNOWN:
                self.note(error)
            case Verdict.FENCED:
                self.core.fence(error)
                raise Halted from error
            case _:
                self.stop(error)
                raise Halted from error

    # What happened

    def note(self, error: Exception) -> None:
        """Remember the newest error for the status."""
        with self.core.changing():
            self.last_error = reason_of(error)

    def stop(self, error: Exception) -> None:
        """The lane cannot go on. A required one takes the pipeline with it."""
        with self.core.changing():
            self.failure, self.last_error = error, reason_of(error)
            logger.error("lane %s is stopped: %s", self.name, error)
            self.fail_pipeline_if_required()

    def fail_pipeline_if_required(self) -> None:
        """A required lane of a running pipeline that cannot go on takes the pipeline with it."""
        is_running = self.core.phase is not DeliveryPhase.OPENING
        if self.failure is not None and self.spec.required and self.is_member and is_running:
            self.core.fail(self.failure)

    def take_up(self, job: Job, keys: frozenset[object] | None) -> None:
        """A worker has the batch from here on."""
        self.trying[job.oseq] = job.tries
        self.keys_of[job.oseq] = keys

    def put_down(self, job: Job) -> None:
        """The batch is resolved: count what became of its rows."""
        del self.trying[job.oseq]
        del self.keys_of[job.oseq]
        self.rows.read += job.published
        self.rows.filtered += job.published - len(job.parcel)
        self.rows.dead += len(job.parcel) - len(job.owed) - len(job.refused)
        self.rows.refused += len(job.refused)
        self.rows.out += len(job.owed)

    def shares_keys(self, keys: frozenset[object] | None) -> bool:
        """Whether a batch about these keys must wait for one that is with a worker."""
        return any(keys is None or other is None or keys & other for other in self.keys_of.values())

    def halt(self) -> None:
        """The lane is removed, or was never added: its workers end."""
        with self.core.changing():
            self.halted = True

    def enter(self) -> None:
        """Its workers begin."""
        with self.core.lock:
            self.workers = self.spec.workers
            self.core.bells.add(self.bell)

    def leave(self) -> None:
        """A worker ends; the last one closes the sink."""
        with self.core.changing():
            self.workers -= 1
            is_last = self.workers == 0
            if is_last:
                self.core.bells.discard(self.bell)
        if is_last:
            try:
                with self.gate.alone():
                    self.sink.close()
            except Exception as error:
                logger.warning("lane %s: the sink could not be closed: %s", self.name, error)
