"""How a worker comes by its next attempt: the next batch of the lane, or the same batch again.

A batch is read and its earlier rejections are looked up before it is sent. Nothing is sent for the first time while the
cursors on disk do not name every lane, and nothing at all without a permit of the breaker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.deliver.classify import Reason, classify_durable
from holdfast.deliver.contract import Ordering
from holdfast.deliver.job import Job
from holdfast.deliver.rows import keys_of, parcel_for, whole_units
from holdfast.flow.retry import Tries

if TYPE_CHECKING:
    from holdfast.deliver.courier import Courier
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.reading import Reader
    from holdfast.flow.breaker import Permit
    from holdfast.ledger.lane import Lane
    from holdfast.ledger.tickets import Queued, Sending

_ANOTHER_ROW = Reason("Rejected", "HF-404", "Another row of its transaction was rejected.")


class Attempt(NamedTuple):
    """The right to call the sink once, and the answer that is owed for it."""

    sending: Sending
    permit: Permit


class Taking:
    """Takes batches for one worker."""

    def __init__(self, lane: DeliveryLane, reader: Reader, courier: Courier) -> None:
        self._lane = lane
        self._core = lane.core
        self._reader = reader
        self._courier = courier

    def take(self) -> tuple[Job, Attempt]:
        """Wait for the next batch, prepare it and send it on its way."""
        with self._lane.turn:
            while True:
                queued, previous = self._next()
                if not self._is_in_the_sink(queued):
                    job = self._prepare(queued.oseq, previous)
                    attempt = self._send_first(queued, job)
                    if attempt is not None:
                        return job, attempt

    def again(self, job: Job, *, pause: float) -> Attempt:
        """Send the batch once more, after a pause."""
        self._lane.pause(pause)
        permit = self._lane.wait_for_permit()
        with self._lane.answering() as ledger:
            return Attempt(ledger.retry(self._lane.name, job.oseq).send(), permit)

    def _next(self) -> tuple[Queued, int]:
        """A batch that may be sent for the first time, and the lane's batch before it."""
        core, lane = self._core, self._lane
        with core.lock:
            while True:
                lane.check()
                queued = core.ledger.next(lane.name) if lane.may_send() else None
                if queued is not None:
                    return queued, batch_before(core.ledger.lanes[lane.name], queued.oseq)
                core.clock.wait(lane.bell, None)

    def _is_in_the_sink(self, queued: Queued) -> bool:
        """A sink that was opened late may have more than we had recorded: those batches are skipped."""
        cursor = self._lane.cursor
        if cursor is None or queued.oseq > cursor:
            return False
        with self._lane.answering():
            if self._lane.may_send():
                queued.send().ack()
        return True

    def _prepare(self, oseq: int, previous: int) -> Job:
        """Read the batch and what of it was rejected before; a transaction is rejected as a whole."""
        job = self._lane.patiently(lambda: self._read(oseq, previous), judge=classify_durable)
        torn = whole_units(job.parcel, job.unit, job.rejected) - job.rejected
        if torn:
            self._courier.reject(job, job.parcel.only(torn), _ANOTHER_ROW)
        return job

    def _read(self, oseq: int, previous: int) -> Job:
        lane = self._lane
        rows = self._reader.read(oseq)
        rejected = lane.dead_letters.rejected(oseq)
        return Job(
            oseq,
            max(previous, lane.cursor or 0),
            parcel_for(lane.name, rows, only=lane.spec.only),
            published=rows.num_rows,
            tries=Tries(lane.spec.retry),
            unit=lane.spec.poison_unit,
            columns=lane.spec.columns,
            rejected=rejected,
            refused=lane.dead_letters.refused(oseq) if rejected else frozenset(),
        )

    def _send_first(self, queued: Queued, job: Job) -> Attempt | None:
        """Send the batch; None when it may no longer be sent, as when a drain began."""
        is_disjoint = self._lane.sink.ordering is Ordering.DISJOINT
        keys = keys_of(job.parcel) if is_disjoint else frozenset()
        self._wait_for_keys(keys)
        permit = self._lane.wait_for_permit()
        with self._lane.answering() as ledger:
            if not self._lane.may_send() or ledger.next(self._lane.name) is None:
                self._lane.breaker.given_back(permit)
                return None
            self._lane.take_up(job, keys)
            sending = queued.send()
            self._read_ahead(ledger.lanes[self._lane.name])
            return Attempt(sending, permit)

    def _wait_for_keys(self, keys: frozenset[object] | None) -> None:
        """A disjoint sink is not sent two batches about the same key at once."""
        lane = self._lane
        with self._core.lock:
            while lane.shares_keys(keys):
                lane.check()
                self._core.clock.wait(lane.bell, None)

    def _read_ahead(self, lane: Lane) -> None:
        if lane.queued:
            self._reader.want(lane.queued[0])


def batch_before(lane: Lane, oseq: int) -> int:
    """The lane's batch before this one: what an ordered sink's own cursor says when this one is to be applied."""
    return max((sent for sent in lane.window if sent < oseq), default=lane.delivered)
