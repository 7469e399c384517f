"""The thread that carries batches on a lane: takes the next, tries until it is resolved, answers to the ledger.

A lane has as many workers as it may have batches unanswered. One of them at a time looks for the next batch; a worker
keeps its batch through all its attempts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.deliver.classify import Verdict, classify, pause_asked_for, reason_of
from holdfast.deliver.core import Halted
from holdfast.deliver.courier import Courier
from holdfast.deliver.spec import OnExhausted
from holdfast.deliver.taking import Taking

if TYPE_CHECKING:
    from holdfast.deliver.job import Job
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.reading import Reader
    from holdfast.deliver.taking import Attempt

logger = logging.getLogger(__name__)


class Worker:
    """One of a lane's workers."""

    def __init__(self, lane: DeliveryLane, reader: Reader) -> None:
        self._lane = lane
        self._core = lane.core
        self._courier = Courier(lane)
        self._taking = Taking(lane, reader, self._courier)

    def run(self) -> None:
        """Carry one batch after another, until halted."""
        while True:
            self._carry(*self._taking.take())

    def _carry(self, job: Job, attempt: Attempt) -> None:
        """Try until the batch is resolved."""
        current: Attempt | None = attempt
        while current is not None:
            try:
                self._courier.bring(job)
            except Exception as error:
                current = self._after(error, job, current)
            else:
                self._resolve(job, current)
                return

    def _resolve(self, job: Job, attempt: Attempt) -> None:
        """The sink has all of the batch that is not in the dead letters."""
        lane, age = self._lane, self._core.age_of(job.oseq)
        with lane.answering() as ledger:
            if age is not None:
                lane.latency.record(age)
            lane.breaker.succeeded(attempt.permit, self._core.clock.monotonic())
            self._answer(job, attempt)
            if job.tries.exhausted or job.was_frozen:
                lane.catching_up_to = ledger.batches.last_oseq
                logger.info("lane %s moves again after batch %d", lane.name, job.oseq)

    def _after(self, error: Exception, job: Job, attempt: Attempt) -> Attempt | None:
        """The attempt failed: the next one, or None when the batch is resolved all the same."""
        match classify(error):
            case Verdict.LATER | Verdict.UNKNOWN:
                return self._try_again(error, job, attempt)
            case Verdict.FENCED:
                self._core.fence(error)
            case Verdict.HELD:
                return self._freeze(error, job, attempt)
            case _:
                with self._lane.answering():
                    attempt.sending.hold()
                self._lane.stop(error)
        raise Halted from error

    def _try_again(self, error: Exception, job: Job, attempt: Attempt) -> Attempt | None:
        lane, asked = self._lane, pause_asked_for(error)
        now = self._core.clock.monotonic()
        job.tries = job.tries.after_failure(now, lane.random, at_least=asked)
        lane.note(error)
        if not job.tries.exhausted:
            self._fail(job, attempt)
            return self._taking.again(job, pause=job.tries.pause)
        if lane.spec.on_exhausted is OnExhausted.DEAD_LETTER and not job.in_doubt:
            self._courier.give_up(job, job.undelivered, reason_of(error))
            if not lane.keeps_cursor and job.rejected:
                self._resolve_without_sink(job, attempt)
                return None
        self._hold(error, job, attempt)
        return self._taking.again(job, pause=asked)

    def _freeze(self, error: Exception, job: Job, attempt: Attempt) -> Attempt:
        """Somebody must act. The breaker tries again now and then; the time until then does not count as retries."""
        job.was_frozen = True
        job.tries = job.tries.while_frozen()
        self._lane.note(error)
        self._hold(error, job, attempt)
        return self._taking.again(job, pause=0)

    def _fail(self, job: Job, attempt: Attempt) -> None:
        """The cursor waits; the batch is sent again after a pause."""
        with self._lane.answering():
            self._lane.breaker.failed(attempt.permit, self._core.clock.monotonic())
            self._lane.trying[job.oseq] = job.tries
            attempt.sending.fail()

    def _hold(self, error: Exception, job: Job, attempt: Attempt) -> None:
        """The lane is frozen until the breaker lets one attempt through."""
        lane = self._lane
        with lane.answering():
            lane.breaker.trip(self._core.clock.monotonic())
            lane.trying[job.oseq] = job.tries
            attempt.sending.hold()
        logger.warning(
            "lane %s is frozen at batch %d, which is tried again in %g s: %s",
            lane.name,
            job.oseq,
            lane.spec.breaker.cool_down,
            error,
        )

    def _resolve_without_sink(self, job: Job, attempt: Attempt) -> None:
        """All rows are dead letters, and the sink has no cursor to be moved over them."""
        with self._lane.answering():
            self._lane.breaker.failed(attempt.permit, self._core.clock.monotonic())
            self._answer(job, attempt)

    def _answer(self, job: Job, attempt: Attempt) -> None:
        """A batch of which rows are dead letters is rejected, also when the sink has all the others."""
        if job.rejected:
            attempt.sending.reject().dead_lettered()
        else:
            attempt.sending.ack()
        self._lane.put_down(job)
