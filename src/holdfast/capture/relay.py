"""Follows a durable log that another process writes: one pipeline, or the edge of a sensor network, feeds another.

Events keep their identity, so whoever sees both logs sees one event. Each process can be killed and started for itself;
what one has appended the other finds, and goes on behind what its own inbox holds. What the log's owner has trimmed
before it was read is gone, and told.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from holdfast.capture.contract import Captured, Source
from holdfast.log.reader import InboxReader
from holdfast.log.segment import clip, read_chunk
from holdfast.log.values import Limits
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import InvalidSource, LogMissing, SourceGap, SourceUnavailable
from holdfast.model.positions.log import LogPosition

if TYPE_CHECKING:
    import os

    from holdfast.model.positions import Position

_AT_ONCE = Limits(rows=100_000, nbytes=32 << 20)
_POLL = 0.01


class Relay(Source):
    """What is in the inbox at `directory`, and what comes to it.

    :param name: of this source; the events have it, too.
    """

    kind: ClassVar[str] = "relay"

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        name: str = "relay",
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        self._directory = Path(directory)
        self._monotonic, self._sleep = monotonic, sleep
        self._log: InboxReader | None = None
        self._at = 0

    def open(self, after: Position | None) -> None:
        """Go on behind the position, in the log it was taken from and in no other."""
        self.close()
        try:
            log = InboxReader.open(self._directory)
        except LogMissing as error:
            raise SourceUnavailable(
                f"There is no log at {self._directory} yet, so source {self.name!r} has nothing to follow.",
                remedy="Start whoever writes it; capture tries again by itself.",
                source=self.name,
            ) from error
        try:
            self._at = self._start(log, after)
        except BaseException:
            log.close()
            raise
        self._log = log

    def read(self, wait: float) -> Captured | None:
        """The next events that are durable there."""
        log, until = self._opened(), self._monotonic() + wait
        upto = log.admit(self._at, _AT_ONCE)
        while upto == self._at:
            if self._monotonic() >= until:
                return None
            self._sleep(_POLL)
            upto = log.admit(self._at, _AT_ONCE)
        events = self._events(log, upto)
        self._at = upto
        return Captured(events, LogPosition(log.uuid, upto))

    @property
    def finished(self) -> bool:
        """Never: whoever writes the log may go on."""
        return False

    def latest(self) -> Position | None:
        """Where the log ends just now."""
        log = self._opened()
        return LogPosition(log.uuid, log.end())

    def close(self) -> None:
        """Give up the log."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def _start(self, log: InboxReader, after: Position | None) -> int:
        first = log.first()
        if after is None:
            return first - 1
        if not isinstance(after, LogPosition) or after.log != log.uuid:
            raise SourceGap(
                f"Source {self.name!r} stands at {after}, and the log at {self._directory} is another one: {log.uuid}.",
                kept="Everything that was captured from the other log is in the inbox.",
                remedy="Put the log back, or give the source a new name to follow the new log from its beginning.",
                source=self.name,
            )
        if after.seq < first - 1:
            raise SourceGap(
                f"Source {self.name!r} stands at {after.seq}, and the log at {self._directory} begins at {first}.",
                kept="Everything up to there is in the inbox; the events between were trimmed before they were read.",
                remedy="Give the source a new name to follow the log from what it still has.",
                source=self.name,
            )
        return after.seq

    def _events(self, log: InboxReader, upto: int) -> pa.RecordBatch:
        chunks = [clip(read_chunk(log.directory, chunk), self._at, upto) for chunk in log.chunks(self._at, upto)]
        events = pa.Table.from_batches(chunks).combine_chunks().to_batches()[0]
        places = {"source": pa.repeat(self.name, events.num_rows), "position": events["seq"].cast(pa.string())}
        return pa.RecordBatch.from_arrays(
            [places.get(field.name, events[field.name]) for field in CAPTURED], schema=CAPTURED
        )

    def _opened(self) -> InboxReader:
        if self._log is None:
            raise InvalidSource(f"Source {self.name!r} is not open.", remedy="Open it first.", source=self.name)
        return self._log
