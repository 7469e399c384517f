"""Reads an inbox from any process of its host, while its owner appends. It writes nothing, not even a cursor.

What a reader relies on has to be declared with the owner (`Inbox.set_cursor`): what no declared cursor needs may be
gone at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from holdfast.log import inbox_control as control
from holdfast.log.cutting import position_of_row, position_of_text
from holdfast.log.export import write_lines
from holdfast.log.inbox_index import KIND, appended_at, chunks_between, nbytes_after, read_state, spans_between
from holdfast.log.opening import open_to_read
from holdfast.log.ranges import next_end
from holdfast.log.restoring import as_captured, is_restored
from holdfast.log.segment import clip, read_chunk
from holdfast.model.closing import Closing
from holdfast.model.errors import NotInLog

if TYPE_CHECKING:
    import sqlite3
    import threading
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path
    from typing import IO, Self

    import pyarrow as pa

    from holdfast.log.inbox_index import State
    from holdfast.log.index import Index
    from holdfast.log.opening import Identity
    from holdfast.log.values import Chunk, Limits
    from holdfast.model.positions import Position


class InboxReader(Closing):
    """A reading handle on an inbox; one thread at a time."""

    def __init__(self, directory: Path, index: Index, identity: Identity) -> None:
        self.directory = directory
        self.name = identity.name
        self.uuid = identity.uuid
        self._index = index

    @classmethod
    def open(cls, directory: Path) -> Self:
        """Open an inbox that exists; `LogMissing` when it does not, `ForeignLog` when it is something else."""
        return cls(directory, *open_to_read(directory, KIND))

    def first(self) -> int:
        """The first event that is still there, or will be."""
        return self._state().trimmed + 1

    def end(self) -> int:
        """The last event that is durable and ends a transaction; 0 when there is none."""
        return self._state().end

    def admit(self, after: int, limits: Limits) -> int:
        """How far to read next: `after` itself when there is nothing new.

        As much as fits the limits, and at least one whole transaction, however large; or one row, when the limits
        allow to cut transactions.
        """
        with self._index.reading() as db:
            state = self._checked(db, after, after)
            return next_end(after, spans_between(db, after, state.end), limits)

    def chunks(self, after: int, upto: int) -> list[Chunk]:
        """The chunks that hold the events behind `after` and up to `upto`; the outer ones may hold more (see `clip`).

        Raises `NotInLog` when the log never had such events, has them not yet, or has forgotten them.
        """
        with self._index.reading() as db:
            self._checked(db, after, upto)
            return list(chunks_between(db, after, upto))

    def position_at(self, seq: int) -> Position | None:
        """Where the source stands after the event `seq`, which must end a transaction; None at the very beginning."""
        state = self._state()
        if seq == 0:
            return None
        if seq == state.end and state.position is not None:
            return position_of_text(state.position)
        (chunk,) = self.chunks(seq - 1, seq)
        position = position_of_text(chunk.position)
        if seq == chunk.last_seq:
            return position
        events = read_chunk(self.directory, chunk)
        return position if is_restored(events) else position_of_row(events, seq - chunk.first_seq, position)

    def appended_at(self, seq: int) -> datetime | None:
        """When the event became durable; None when it is not there, or not there any more."""
        with self._index.reading() as db:
            return appended_at(db, seq)

    def nbytes_after(self, seq: int) -> int:
        """The size of the chunks with events behind this one."""
        with self._index.reading() as db:
            return nbytes_after(db, seq)

    def event_time_at(self, seq: int) -> datetime | None:
        """The newest time of the events that became durable together with this one, up to it; None without any."""
        if not self.first() <= seq <= self.end():
            return None
        (chunk,) = self.chunks(seq - 1, seq)
        times = clip(read_chunk(self.directory, chunk), chunk.first_seq - 1, seq)["event_time"]
        newest: datetime | None = pc.max(times).as_py()
        return newest

    def read(self, after: int, upto: int | None = None) -> Iterator[pa.RecordBatch]:
        """The events behind `after`, in order and verified, up to `upto` or the present end."""
        for chunk in self.chunks(after, self.end() if upto is None else upto):
            events = clip(read_chunk(self.directory, chunk), after, chunk.last_seq if upto is None else upto)
            yield as_captured(events)

    def follow(self, after: int, *, stop: threading.Event, poll: float = 0.05) -> Iterator[pa.RecordBatch]:
        """The events behind `after`, and those that come, until `stop` is set."""
        while not stop.is_set():
            end = self.end()
            if end == after:
                stop.wait(poll)
            yield from self.read(after, end)
            after = end

    def export_jsonl(self, out: IO[str], after: int = 0, upto: int | None = None) -> int:
        """Write the events behind `after` as JSON, one a line, from the first that is there on; how many they were."""
        start = max(after, self.first() - 1)
        return sum(write_lines(batch, out) for batch in self.read(start, upto))

    def admission_paused(self) -> bool:
        """Whether nothing more is to be read for now."""
        return bool(self.paused_by())

    def paused_by(self) -> list[str]:
        """Why nothing more is to be read for now."""
        with self._index.reading() as db:
            return control.pauses(db)

    def skipped(self, after: int, upto: int) -> list[int]:
        """The events of a range that are to be left out; `read` and `chunks` do not do it."""
        with self._index.reading() as db:
            return control.skipped(db, after, upto)

    def close(self) -> None:
        """Give up the connection."""
        self._index.close()

    def _state(self) -> State:
        with self._index.reading() as db:
            return read_state(db)

    def _checked(self, db: sqlite3.Connection, after: int, upto: int) -> State:
        state = read_state(db)
        if not state.trimmed <= after <= upto <= state.end:
            raise NotInLog(
                f"The inbox of {self.name!r} holds the events {state.trimmed + 1} to {state.end}, "
                f"not {after + 1} to {upto}.",
                remedy="Start from what it holds; if it had them before, it was made anew or trimmed: restore it.",
                source=self.name,
                after=after,
                upto=upto,
            )
        return state
