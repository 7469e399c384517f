"""What is done about a query that failed: the events to blame are found, made dead letters, and skipped from now on.

Dead letter first, then the skip: a crash in between repeats the first, which changes nothing. Nothing is published, and
Spark's plan stays as it is: the batch is run again over the same range, without the events that are skipped.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.log.values import Range
from holdfast.process.guarding import FailedRow, told
from holdfast.runtime.causes import is_no_fault_of_data, reason_of
from holdfast.runtime.isolation import Isolating, NotTheData, Search, size, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.log import InboxReader
    from holdfast.runtime.ground import Ground
    from holdfast.runtime.isolation import IsolationLimits, Ranges
    from holdfast.runtime.processor import Processor, Work
    from holdfast.runtime.spark_checkpoint import Plan
    from holdfast.runtime.undertaker import Undertaker

log = logging.getLogger("holdfast")

STEP = "query"
"""How dead letters call the steps as a whole."""


class Isolator:
    """Isolates the events that make batches of one pipeline fail.

    :param is_stopping: whether nobody waits for the outcome any more.
    """

    def __init__(
        self, ground: Ground, undertaker: Undertaker, limits: IsolationLimits, *, is_stopping: Callable[[], bool]
    ) -> None:
        self._ground = ground
        self._undertaker = undertaker
        self._limits = limits
        self._is_stopping = is_stopping
        self.isolating: Isolating | None = None
        """The search that is under way."""

    def isolate(self, failure: BaseException, processor: Processor, work: Work) -> bool:
        """Whether events were to blame for a failure, and are skipped from now on.

        Raises `NoRowFailsAlone` or `IsolationExhausted` when the batch fails and that cannot be mended so.
        """
        plan = self._failing_batch()
        if plan is None or is_no_fault_of_data(failure):
            return False
        search = Search(
            lambda ranges: self._probed(processor, work, ranges),
            found=self._give_up,
            limits=self._limits,
            now=time.monotonic,
            show=self._show,
        )
        ranges, skipped = self._ranges(plan)
        log.warning("batch %s failed, its rows are probed: %s", plan.batch_id, reason_of(failure))
        try:
            found = search.run(ranges, before=skipped)
        except NotTheData as reason:
            log.warning("no row is to blame for the failure of batch %s: %s", plan.batch_id, reason)
            return False
        finally:
            self.isolating = None
        log.warning("batch %s goes on without %s rows, which are dead letters", plan.batch_id, found)
        return True

    def _failing_batch(self) -> Plan | None:
        """The batch that was planned and not finished; None when it was published: its rows are delivered."""
        checkpoint = self._ground.checkpoint
        planned = checkpoint.newest_planned()
        if planned is None or planned == checkpoint.newest_finished() or self._ground.outbox.find(planned) is not None:
            return None
        return checkpoint.plan(planned)

    def _ranges(self, plan: Plan) -> tuple[Ranges, int]:
        """The events of a batch without those that are skipped, and how many those are; by the name of the source."""
        whole = [
            Range(name, plan.starts.get(inbox.uuid, 0), plan.ends[inbox.uuid])
            for name, inbox in self._ground.inboxes.items()
            if plan.ends.get(inbox.uuid, 0) > plan.starts.get(inbox.uuid, 0)
        ]
        ranges = tuple(part for each in whole for part in without(each, self._skipped(each)))
        return ranges, size(whole) - size(ranges)

    def _skipped(self, wanted: Range) -> list[int]:
        return self._reader(wanted).skipped(wanted.after, wanted.upto)

    def _probed(self, processor: Processor, work: Work, ranges: Ranges) -> Exception | None:
        if self._is_stopping():
            raise NotTheData("the pipeline is stopped")
        by_uuid = [each._replace(inbox=self._ground.inboxes[each.inbox].uuid) for each in ranges]
        try:
            processor.probe(work, by_uuid)
        except Exception as error:
            if is_no_fault_of_data(error):
                raise NotTheData(f"a probe failed with {reason_of(error)}") from error
            return error
        return None

    def _give_up(self, row: Range, error: Exception) -> None:
        event = pa.Table.from_batches(self._reader(row).read(row.after, row.upto))
        failed = FailedRow(STEP, event["event_id"][0].as_py(), type(error).__name__, told(error))
        self._undertaker.bury_event(event, failed)
        self._ground.inboxes[row.inbox].skip([row.upto], reason=f"{failed.kind} in the steps")

    def _reader(self, of: Range) -> InboxReader:
        return self._ground.readers[self._ground.inboxes[of.inbox].uuid]

    def _show(self, isolating: Isolating) -> None:
        self.isolating = isolating
