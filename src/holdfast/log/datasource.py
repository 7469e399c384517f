"""All inboxes of a pipeline as one Spark source with exact offsets, read as Arrow batches.

Spark asks the reader where the next batch ends (`latestOffset`) in a Python process of its own on the driver's host,
and reads the partitions in its executors. Only the first opens an index; a partition carries the files, offsets and
checksums it needs. The offset is {inbox uuid: seq}: Spark matches sources by their place in the query and would swap
two of them without a word, so there is only one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from holdfast.log.admission import admitted, waiting
from holdfast.log.reader import InboxReader
from holdfast.log.slices import Slices, sliced
from holdfast.log.values import Limits, Range
from holdfast.model.envelope import ENVELOPE_DDL
from holdfast.model.errors import LogMissing, NotInLog

SOURCE_NAME = "holdfast_inboxes"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader must know of a query; it travels to Spark's processes as one option."""

    inboxes: Mapping[str, str]
    """The directory of each inbox by its uuid."""
    limits: Limits
    start: Mapping[str, int]
    """The offset after Spark's newest planned batch: Spark does not tell the reader where it stands."""
    initial: Mapping[str, int] = field(default_factory=dict)
    """Where the query began when it was new: inboxes that are not named here, before their first event."""
    recorded: Sequence[Mapping[str, int]] = ()
    """Ends of batches that are published and that Spark has yet to plan again: repeated exactly."""
    max_wait: float = 0.0
    """Seconds that an event may wait for a fuller batch."""
    partition_bytes: int = 32 * 1024 * 1024
    max_partitions: int = 2

    def to_option(self) -> str:
        """The text that travels."""
        return json.dumps(asdict(self))

    @classmethod
    def from_option(cls, text: str) -> Reading:
        """Reads what `to_option` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "limits": Limits(**fields["limits"])})


class Inboxes(DataSource):
    """The Spark source; its option is `reading`."""

    @classmethod
    def name(cls) -> str:
        """How queries call it."""
        return SOURCE_NAME

    def schema(self) -> str:
        """The envelope."""
        return ENVELOPE_DDL

    def streamReader(self, schema: StructType) -> InboxesReader:  # noqa: N802 (Spark's name)
        """The reader of one query."""
        return InboxesReader(Reading.from_option(self.options["reading"]))

    def reader(self, schema: StructType) -> RangesReader:
        """The reader of the ranges that stand in a second option, `ranges`."""
        ranges = [Range(*each) for each in json.loads(self.options["ranges"])]
        return RangesReader(Reading.from_option(self.options["reading"]), ranges)


class RangesReader(DataSourceReader):
    """Reads ranges once, for a query that is no stream. Without any event there is still one task that runs."""

    def __init__(self, reading: Reading, ranges: Sequence[Range]) -> None:
        self.reading = reading
        self.ranges = ranges

    def partitions(self) -> Sequence[Slices]:
        """The ranges, without what is to be skipped."""
        inboxes = {each.inbox: InboxReader.open(Path(self.reading.inboxes[each.inbox])) for each in self.ranges}
        try:
            found = sliced(
                inboxes,
                self.ranges,
                partition_bytes=self.reading.partition_bytes,
                max_partitions=self.reading.max_partitions,
            )
        finally:
            for inbox in inboxes.values():
                inbox.close()
        return found or [Slices()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        assert isinstance(partition, Slices)
        return partition.read()


class InboxesReader(DataSourceStreamReader):
    """Decides where batches end, and reads them. It remembers where the last one ended, as Spark does not tell."""

    def __init__(self, reading: Reading, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.reading = reading
        self._monotonic = monotonic
        self._at = dict(reading.start)
        self._recorded = [dict(ends) for ends in reading.recorded]
        self._opened: dict[str, InboxReader] | None = None
        self._waiting_since: float | None = None

    def __getstate__(self) -> dict[str, object]:
        """What executors get: they read chunks and never open an index."""
        return {**self.__dict__, "_opened": None}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a query without a checkpoint begins."""
        return {**dict.fromkeys(self.reading.inboxes, 0), **self.reading.initial}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        """Where the next batch ends; where the last one did when there is none."""
        if self._recorded:
            self._at = self._recorded.pop(0)
        elif self._is_due():
            self._at = admitted(self._inboxes(), self._at, self.reading.limits)
            self._waiting_since = None
        return {**self.initialOffset(), **self._at}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Slices]:
        """As few partitions as the size needs, without what is to be skipped."""
        wanted = [Range(uuid, start.get(uuid, 0), upto) for uuid, upto in end.items() if uuid in self._inboxes()]
        return sliced(
            self._inboxes(),
            [each for each in wanted if each.events > 0],
            partition_bytes=self.reading.partition_bytes,
            max_partitions=self.reading.max_partitions,
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The events of a partition."""
        assert isinstance(partition, Slices)
        return partition.read()

    def commit(self, end: dict[str, int]) -> None:
        """Nothing to do: what may be forgotten is decided by declared cursors, after it was synced."""

    def stop(self) -> None:
        """Close the indexes."""
        for inbox in (self._opened or {}).values():
            inbox.close()
        self._opened = None

    def _is_due(self) -> bool:
        inboxes = self._inboxes()
        if any(inbox.admission_paused() for inbox in inboxes.values()):
            return False
        events = waiting(inboxes, self._at)
        if not events:
            self._waiting_since = None
            return False
        now = self._monotonic()
        self._waiting_since = now if self._waiting_since is None else self._waiting_since
        return events >= self.reading.limits.rows or now - self._waiting_since >= self.reading.max_wait

    def _inboxes(self) -> dict[str, InboxReader]:
        if self._opened is None:
            self._opened = {uuid: _opened(uuid, path, self._at) for uuid, path in self.reading.inboxes.items()}
        return self._opened


def _opened(uuid: str, path: str, at: Mapping[str, int]) -> InboxReader:
    inbox = InboxReader.open(Path(path))
    if inbox.uuid != uuid:
        raise LogMissing(
            f"The inbox in {path} is {inbox.uuid}, but the pipeline read {uuid} there before.",
            remedy="Put the old inbox back, or open a new generation that starts with the new one.",
        )
    if at.get(uuid, 0) > inbox.end():
        raise NotInLog(
            f"Spark stands at event {at[uuid]} of the inbox in {path}, which ends at {inbox.end()}.",
            remedy="The inbox was replaced by an older copy: restore the newer one, or roll the pipeline back.",
        )
    return inbox
