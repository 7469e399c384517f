"""The log of an edge as a source of a pipeline: read in order from a position, by another process if need be.

The position is the number of the last event that was read, so a pipeline takes every row of the log exactly once. What
it has safely done is written beside the log, and the edge forgets nothing that is still needed (see `consumers`).
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from holdfast.capture import Captured, Source
from holdfast.log import InboxReader, Limits
from holdfast.model.envelope import CAPTURED, event_ids
from holdfast.model.errors import LogMissing, NotInLog, SourceGap, SourceUnavailable
from holdfast.model.positions import Seq
from meridian.sensors.consumers import Consumer, declare

if TYPE_CHECKING:
    from holdfast.model.positions import Position

_LIMITS = Limits(rows=50_000, nbytes=16 * 2**20)
_POLL = 0.01


class EdgeLog(Source):
    """One log of an edge.

    :param directory: the `output_dir` of the edge.
    :param log: the name of the log: `obs.radar-1`, `obs.optical`, `obs.isl`.
    :param consumer: who reads; each consumer of a log has a name of its own.
    """

    kind: ClassVar[str] = "edge_log"

    def __init__(self, directory: Path, log: str, *, consumer: str) -> None:
        self.name = log
        self._directory = directory
        self._consumer = Consumer(log, consumer)
        self._reader: InboxReader | None = None
        self._after = 0

    def open(self, after: Position | None) -> None:
        """Read behind this position; `SourceUnavailable` while the edge has no such log yet."""
        self.close()
        try:
            self._reader = InboxReader.open(self._directory / self.name)
            self._after = 0 if after is None else int(str(after))
            self._reader.admit(self._after, _LIMITS)
        except LogMissing as error:
            raise SourceUnavailable(
                f"The edge has no log {self.name!r} in {self._directory}.",
                remedy="Start the edge; it is looked for again by itself.",
                source=self.name,
            ) from error
        except NotInLog as error:
            self.close()
            raise SourceGap(
                f"The log {self.name!r} of the edge does not hold what comes after {self._after}: {error.what}",
                remedy="Restore the log of the edge; what it has forgotten can only be begun anew on purpose.",
                source=self.name,
            ) from error

    def read(self, wait: float) -> Captured | None:
        """The next rows, observations and heartbeats, as they lie in the log."""
        assert self._reader is not None, "the source is not open"
        given_up = time.monotonic() + wait
        while (upto := self._reader.admit(self._after, _LIMITS)) == self._after:
            if time.monotonic() >= given_up:
                return None
            time.sleep(min(_POLL, max(0.0, given_up - time.monotonic())))
        rows = pa.concat_batches([batch.select(CAPTURED.names) for batch in self._reader.read(self._after, upto)])
        numbers = pa.array(range(self._after + 1, upto + 1), pa.int64()).cast(pa.string())
        self._after = upto
        return Captured(_placed(rows, self.name, numbers), Seq(upto))

    @property
    def finished(self) -> bool:
        """Never: an edge has no end."""
        return False

    def latest(self) -> Position | None:
        """Where the log ends now."""
        return None if self._reader is None else Seq(self._reader.end())

    def acknowledge(self, position: Position) -> None:
        """Let the edge forget what is up to here, once nobody else needs it."""
        declare(self._directory, self._consumer, int(str(position)))

    def close(self) -> None:
        """Give up the index."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _placed(rows: pa.RecordBatch, log: str, numbers: pa.StringArray) -> pa.RecordBatch:
    """The rows with the place that they have in the log of the edge, and the identity that follows from it."""
    given = {"event_id": event_ids(log, numbers), "position": numbers, "tx_id": numbers}
    columns = [given.get(name, rows[name]) for name in CAPTURED.names]
    return pa.RecordBatch.from_arrays(columns, schema=CAPTURED)
