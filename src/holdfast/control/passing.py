"""Watches batches pass from the inboxes to the sinks: how long each took, and how new the events are that arrived.

It is asked to look again and again. It only reads; what cannot be read is not known, and disturbs nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.control.event_times import EventTimes
from holdfast.control.latency import Latencies
from holdfast.model.clock import utc_now
from holdfast.model.errors import HoldfastError, LogError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.control.latency import Latency
    from holdfast.log import InboxReader, Published
    from holdfast.runtime.engine import Engine

_MOST_AT_ONCE = 100


class Passing:
    """What was seen of the batches of one run.

    :param readers: of the inboxes, by the name of the source.
    """

    def __init__(self, engine: Engine, readers: Mapping[str, InboxReader]) -> None:
        self._engine = engine
        self._readers = readers
        self._latencies = Latencies()
        self._event_times = EventTimes()
        self._newest = engine.ground.outbox.newest()
        self._note_event_time(self._newest)

    def look(self) -> None:
        """See what was published, and up to where each lane has it."""
        try:
            batches = self._new_batches()
            self._note_event_time(batches[-1] if batches else None)
            for batch in batches:
                captured = self._captured_at(batch)
                if captured is not None:
                    self._latencies.published(batch.oseq, captured)
            now = utc_now()
            for name, lane in self._engine.delivery.status().lanes.items():
                self._latencies.stands(name, lane.cursor, now)
                self._event_times.stands(name, lane.cursor)
            self._latencies.settle()
        except HoldfastError:
            return  # the logs are being closed, or the disk is away; the next look sees

    def latency(self, lane: str) -> Latency:
        """What the last batches of a lane took."""
        return self._latencies.of(lane)

    def newest_delivered(self, lane: str) -> datetime | None:
        """When the newest event happened that a sink has; None when that is not known."""
        return self._event_times.of(lane)

    def newest_captured(self, source: str, end: int) -> datetime | None:
        """When the newest event of a source happened; every end is looked up once."""
        if not self._event_times.knows(source, end):
            self._event_times.captured(source, end, self._time_at(self._readers[source], end))
        return self._event_times.of_source(source)

    def _new_batches(self) -> list[Published]:
        outbox = self._engine.ground.outbox
        newest = outbox.newest()
        if newest is None or (self._newest is not None and newest.oseq == self._newest.oseq):
            return []
        is_same = self._newest is not None and self._newest.generation == newest.generation
        first = self._newest.batch_id + 1 if is_same and self._newest is not None else 0
        numbers = range(max(first, newest.batch_id - _MOST_AT_ONCE), newest.batch_id)
        self._newest = newest
        return [batch for number in numbers if (batch := outbox.find(number)) is not None] + [newest]

    def _captured_at(self, batch: Published) -> datetime | None:
        """When the oldest event of a batch was appended."""
        times = [reader.appended_at(batch.starts.get(reader.uuid, 0) + 1) for reader in self._moved(batch)]
        return min((time for time in times if time is not None), default=None)

    def _note_event_time(self, batch: Published | None) -> None:
        """How new the events of a batch are. The newest batch of a look is enough: a chunk is read for it."""
        if batch is None:
            return
        times = [self._time_at(reader, batch.ends[reader.uuid]) for reader in self._moved(batch)]
        newest = max((time for time in times if time is not None), default=None)
        if newest is not None:
            self._event_times.published(batch.oseq, newest)

    def _moved(self, batch: Published) -> list[InboxReader]:
        """The inboxes that the batch has events of."""
        starts, ends = batch.starts, batch.ends
        return [each for each in self._readers.values() if ends.get(each.uuid, 0) > starts.get(each.uuid, 0)]

    def _time_at(self, reader: InboxReader, seq: int) -> datetime | None:
        try:
            return reader.event_time_at(seq)
        except LogError:
            return None
