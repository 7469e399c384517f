"""Brings one batch into one sink: delivers, looks when nobody knows, finds and records the rows that are refused.

It returns when the sink has everything of the batch that is not in the dead letters. What it raises, the worker judges;
a refusal of rows never leaves it. It does not touch the ledger.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.deliver.classify import Verdict, classify, classify_durable, reason_of
from holdfast.deliver.contract import Ordering
from holdfast.flow.retry import RetryPolicy
from holdfast.model.errors import CursorMoved, Fatal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.deliver.classify import Reason
    from holdfast.deliver.job import Job
    from holdfast.deliver.lane import DeliveryLane
    from holdfast.deliver.pieces import Pieces
    from holdfast.deliver.rows import Parcel, Unit

logger = logging.getLogger(__name__)

_PACE = RetryPolicy(cap=1.0)
"""Dead letters that have no room are asked again soon: somebody may have made some."""


class Courier:
    """Talks to the sink of a lane."""

    def __init__(self, lane: DeliveryLane) -> None:
        self._lane = lane

    def bring(self, job: Job) -> None:
        """Deliver what is owed of the batch."""
        if self._lane.sink.piece_rows is not None:
            self._bring_in_pieces(job, job.cut(self._lane.sink.piece_rows))
            return
        while self._is_needed(job):
            try:
                self._deliver(job, job.owed)
            except Exception as error:
                if self._is_in_the_sink(job, error):
                    return
                if classify(error) is not Verdict.REFUSED:
                    raise
                self._see_that_rows_can_be_blamed(job, error)
                self._reject_culprits(job, reason_of(error))
            else:
                return

    def give_up(self, job: Job, rows: Parcel, reason: Reason) -> None:
        """Record these rows in the dead letters, because every attempt that they had has failed."""
        self._record(job, rows, dict.fromkeys(rows.ordinals.to_pylist(), reason), attempts=job.tries.failed)

    def reject(self, job: Job, rows: Parcel, reason: Reason) -> None:
        """Record these rows in the dead letters, because this attempt was refused for their sake."""
        self._record(job, rows, dict.fromkeys(rows.ordinals.to_pylist(), reason), attempts=job.tries.failed + 1)

    def _is_needed(self, job: Job) -> bool:
        """A batch of which nothing is left goes only to a sink that must move its cursor over it."""
        return self._lane.keeps_cursor or len(job.owed) > 0 or not job.rejected

    def _deliver(self, job: Job, rows: Parcel) -> None:
        with self._lane.gate.shared():
            self._lane.sink.deliver(job.batch(rows))
        job.in_doubt = False
        self._lane.taps.offer(rows.rows)

    def _bring_in_pieces(self, job: Job, pieces: Pieces) -> None:
        """Send piece after piece; one that is refused is halved, and at last is a dead letter before the next is sent.

        What was sent is not sent again when this is called another time.
        """
        while (places := pieces.next()) is not None:
            self._lane.check()
            rows = job.parcel.between(places)
            try:
                self._deliver(job, rows)
            except Exception as error:
                verdict = classify(error)
                job.in_doubt = job.in_doubt or verdict is Verdict.UNKNOWN
                if verdict is not Verdict.REFUSED:
                    raise
                if pieces.halve():
                    continue
                self.reject(job, rows, reason_of(error))
            pieces.done()

    # When nobody knows

    def _is_in_the_sink(self, job: Job, error: Exception) -> bool:
        """After a failed attempt: whether the sink itself says that it has the batch."""
        verdict = classify(error)
        if verdict is Verdict.UNKNOWN:
            job.in_doubt = True
        if verdict not in (Verdict.UNKNOWN, Verdict.REFUSED) or not self._lane.keeps_cursor:
            return False
        found = self._read_cursor()
        if found is None or found >= job.oseq:
            return found is not None
        if self._lane.sink.ordering is Ordering.ORDERED:
            _check_it_did_not_go_back(job, found, self._lane.name)
            job.in_doubt = False
        return False

    def _read_cursor(self) -> int | None:
        try:
            with self._lane.gate.alone():
                return self._lane.sink.cursor()
        except Exception as error:
            if classify(error) is not Verdict.REFUSED:
                raise
            raise Fatal(
                f"The cursor of sink {self._lane.name!r} cannot be read: {error}.",
                kept="The batch was not sent again.",
                remedy="Mend the sink; the batch is tried again by itself.",
                lane=self._lane.name,
            ) from error

    # When rows are refused

    def _reject_culprits(self, job: Job, why_the_batch: Reason) -> None:
        search = job.searching()
        if search is None:
            self.reject(job, job.owed, why_the_batch)
            return
        found = search.run(lambda units: self._refusal(job, units))
        job.searched()
        culprits = job.owed.at(unit for unit, _ in found.refused)
        reasons = (reason for unit, reason in found.refused for _ in unit)
        by_row = dict(zip(culprits.ordinals.to_pylist(), reasons, strict=True))
        self._record(job, culprits, by_row, attempts=job.tries.failed + 1)

    def _see_that_rows_can_be_blamed(self, job: Job, error: Exception) -> None:
        if not len(job.owed):
            raise Fatal(
                f"Sink {self._lane.name!r} refuses batch {job.oseq}, of which it was sent no row: {error}.",
                kept="The batch waits.",
                remedy="A sink must take a batch without rows, to move its cursor. Mend it; the batch is tried again.",
                lane=self._lane.name,
                oseq=job.oseq,
            ) from error

    def _refusal(self, job: Job, units: Sequence[Unit]) -> Reason | None:
        """Why the sink refuses these rows; None when it takes them."""
        self._lane.check()
        try:
            with self._lane.gate.alone():
                self._lane.sink.probe(job.batch(job.owed.at(units)))
        except Exception as error:
            if classify(error) is not Verdict.REFUSED:
                raise
            return reason_of(error)
        return None

    def _record(self, job: Job, rows: Parcel, reasons: Mapping[int, Reason], *, attempts: int) -> None:
        if not reasons:
            return
        lane = self._lane
        refused = lane.patiently(
            lambda: lane.dead_letters.record(job.oseq, rows, reasons, attempts=attempts),
            judge=classify_durable,
            pace=_PACE,
        )
        job.reject(reasons, refused=refused)
        logger.warning("lane %s: %d rows of batch %d are dead letters now", lane.name, len(rows), job.oseq)


def _check_it_did_not_go_back(job: Job, found: int, lane: str) -> None:
    if found < job.previous:
        raise CursorMoved(
            f"Sink {lane!r} says it has batch {found}, but it had {job.previous}: it was restored from an older copy.",
            kept="Nothing was sent after that was seen.",
            remedy="Start the pipeline again: the lane then delivers what the sink lacks, as far as it is kept.",
            lane=lane,
            oseq=job.oseq,
        )
