"""Events that the steps of a pipeline could not take become dead letters, each as its inbox had it.

An entry's id is made of the step and the event, so an event that is given up again after a crash is the same entry.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.log.dead_entry import DeadLetterEntry
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import InvalidStep, RowFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from holdfast.process.guarding import FailedRow
    from holdfast.runtime.ground import Ground
    from holdfast.runtime.spark_checkpoint import Plan

_AT_ONCE = 500
"""How many entries are made and written at once."""


class Undertaker:
    """Writes the dead letters of one pipeline's steps."""

    def __init__(self, pipeline: str, ground: Ground, *, clock: Clock = utc_now) -> None:
        self._pipeline = pipeline
        self._ground = ground
        self._clock = clock

    def bury(self, plan: Plan, failed: Sequence[FailedRow]) -> None:
        """Make the events of these rows durable as dead letters; they are events of this batch."""
        by_event = {row.event_id: row for row in failed}
        entries = self._entries(plan, by_event)
        while some := list(islice(entries, _AT_ONCE)):
            self._ground.dead_letters.put(some)
        if by_event:
            raise _not_of_the_batch(next(iter(by_event.values())), plan)

    def bury_event(self, event: pa.Table, failed: FailedRow) -> None:
        """Make this event durable as a dead letter."""
        self._ground.dead_letters.put([self._entry(event, failed)])

    def _entries(self, plan: Plan, failed: dict[str, FailedRow]) -> Iterator[DeadLetterEntry]:
        """The entries, for which the batch is read once more; what was found is taken out of `failed`."""
        for events in self._events(plan.starts, plan.ends):
            wanted = pa.array(list(failed), pa.string())
            for event in _each(events.filter(pc.is_in(events["event_id"], wanted))):
                yield self._entry(event, failed.pop(event["event_id"][0].as_py()))

    def _events(self, starts: Mapping[str, int], ends: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
        for uuid, reader in self._ground.readers.items():
            if ends.get(uuid, 0) > starts.get(uuid, 0):
                yield from reader.read(starts.get(uuid, 0), ends[uuid])

    def _entry(self, event: pa.Table, failed: FailedRow) -> DeadLetterEntry:
        return DeadLetterEntry.of_event(
            event,
            time=self._clock(),
            pipeline=self._pipeline,
            step=failed.step,
            error_kind=failed.kind,
            error_code=RowFailed.code,
            message=failed.message,
        )


def _each(events: pa.RecordBatch) -> Iterator[pa.Table]:
    table = pa.Table.from_batches([events])
    return (table.slice(place, 1) for place in range(table.num_rows))


def _not_of_the_batch(row: FailedRow, plan: Plan) -> InvalidStep:
    return InvalidStep(
        f"The step {row.step} failed on a row whose event_id is {row.event_id!r}, but batch {plan.batch_id} has no "
        "such event.",
        kept="Nothing of the batch is published.",
        remedy="Let the steps before it leave `event_id` as it is.",
        step=row.step,
        event_id=row.event_id,
    )
