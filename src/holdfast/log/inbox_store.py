"""An inbox on disk: which events an append adds, and where the log stands after it. Used under the lock of `Inbox`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.disk.space import disk_space
from holdfast.log import inbox_control as control
from holdfast.log.cutting import check_shape, check_values, cut, position_of_text, position_text
from holdfast.log.inbox_index import LAYOUT, drop_unfinished, insert_chunks, move_state, read_state, segment_lengths
from holdfast.log.keys import consume, leave_out_repeated
from holdfast.log.oserrors import full
from holdfast.log.pushes import answers, joined, placed
from holdfast.log.restoring import RESTORED
from holdfast.log.retention import forgettable, roll_size
from holdfast.log.segment import encode
from holdfast.log.segmented import Kind, SegmentedLog, Steps
from holdfast.log.times import milliseconds
from holdfast.log.values import Appended, Trimmed
from holdfast.model.errors import InvalidAppend, NotInLog
from holdfast.model.positions import Order, Seq
from holdfast.model.steps import Step

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from holdfast.log.cutting import Draft
    from holdfast.log.inbox_index import State
    from holdfast.log.keys import Fresh, Key
    from holdfast.log.opening import Owner
    from holdfast.log.pushes import Push
    from holdfast.log.values import Keep
    from holdfast.model.positions import Position

_INBOX = Kind(
    layout=LAYOUT,
    steps=Steps(Step.INBOX_WRITE, Step.INBOX_FSYNC, Step.INBOX_INDEX, Step.INBOX_INDEXED),
    lengths=segment_lengths,
    recover=drop_unfinished,
)


class InboxStore:
    """An inbox in the hands of one thread of one owner."""

    def __init__(self, directory: Path, name: str, owner: Owner, quota: int | None) -> None:
        self.log = SegmentedLog(directory, _INBOX, name=name, owner=owner, roll_at=roll_size(quota))
        try:
            with self.log.index.reading() as db:
                self.state = read_state(db)
            self.position = None if self.state.position is None else position_of_text(self.state.position)
        except BaseException:
            self.log.close()
            raise

    def append(self, events: pa.RecordBatch, position: Position, keys: Sequence[str] | None) -> Appended:
        """Make events durable, but for those whose key was consumed before."""
        check_shape(events, keys)
        check_values(events)
        self._refuse_going_back(position)
        fresh = self._fresh(events, keys)
        drafts = cut(fresh.events, self.state.last_seq + 1, position)
        if drafts:
            self._write(drafts, fresh.keys)
        elif not self.is_in_transaction:
            self._move_position(position)
        last = self.state.last_seq
        return Appended(last - fresh.events.num_rows + 1, last, left_out=int(fresh.left_out.sum()))

    def push(self, pushes: Sequence[Push]) -> list[Appended]:
        """Make the events of many pushes durable, and give each event the place in the source that only we know."""
        if self.is_in_transaction:
            raise InvalidAppend(
                "A push came while an append has left its transaction open.",
                remedy="Feed an inbox by appends or by pushes, or finish every transaction before a push.",
            )
        fresh = self._fresh(*joined(pushes))
        first = self.state.last_seq + 1
        events = placed(fresh.events, first, self.log.identity.name)
        drafts = cut(events, first, Seq(first + events.num_rows - 1))
        if drafts:
            self._write(drafts, fresh.keys)
        return answers(pushes, fresh.left_out, first)

    def restore(self, events: pa.RecordBatch, keys: Sequence[str]) -> Appended:
        """Make events durable that were here before. The source stands where it stood."""
        if self.position is None:
            raise InvalidAppend(
                f"The inbox of {self.log.identity.name!r} never had an event, so none can come back to it.",
                remedy="See that the dead letters and the inbox belong to the same pipeline.",
                source=self.log.identity.name,
            )
        check_values(events)
        fresh = self._fresh(events, keys)
        first = self.state.last_seq + 1
        drafts = [
            replace(draft, position=self.position, schema=RESTORED) for draft in cut(fresh.events, first, self.position)
        ]
        if drafts:
            self._write(drafts, fresh.keys)
        return Appended(first, self.state.last_seq, left_out=int(fresh.left_out.sum()))

    def trim(self, keep: Keep | None) -> Trimmed:
        """Forget what no declared reader needs: first in the index, then on disk; a crash between is swept later."""
        owner = self.log.owner
        with self.log.index.reading() as db:
            cursors = control.read_cursors(db)
            gone = forgettable(
                control.items(db),
                after=self.state.trimmed,
                needed_from=min(cursors.values(), default=0) + 1,
                total=self.state.nbytes,
                keep=keep,
                now=owner.clock(),
            )
        rows = gone.through - self.state.trimmed
        if rows:
            owner.hook(Step.INBOX_TRIM)
            with self.log.index.committing() as db:
                files = control.forget(db, gone.through, gone.nbytes)
            self.state = replace(self.state, trimmed=gone.through, nbytes=self.state.nbytes - gone.nbytes)
            owner.hook(Step.INBOX_TRIMMED)
            self.log.remove(files)
        with self.log.index.reading() as db:
            return Trimmed(rows, gone.nbytes, control.retained(db))

    def forget_unfinished(self) -> None:
        """Forget the rows behind the last transaction end, as opening the log does."""
        with self.log.index.committing() as db:
            drop_unfinished(db)
            state = read_state(db)
        self.state = state

    @property
    def is_in_transaction(self) -> bool:
        """Whether a transaction was begun by an append and not yet ended by one."""
        return self.state.last_seq > self.state.end

    def _fresh(self, events: pa.RecordBatch, keys: Sequence[Key] | None) -> Fresh:
        with self.log.index.reading() as db:
            return leave_out_repeated(db, events, keys)

    def _move_position(self, position: Position) -> None:
        """Nothing new came, but the source went on."""
        after = replace(self.state, position=position_text(position))
        with self.log.index.committing() as db:
            self._move(db, after)
        self.state, self.position = after, position

    def _write(self, drafts: Sequence[Draft], keys: Sequence[Key]) -> None:
        self._check_disk(sum(draft.events.nbytes for draft in drafts))
        places = self.log.append(encode(draft.numbered) for draft in drafts)
        nbytes = self.state.nbytes + sum(place.length for place in places)
        after = replace(self.state, last_seq=drafts[-1].last_seq, nbytes=nbytes)
        position = self.position
        if (ended := _last_ended(drafts)) is not None:
            after = replace(after, end=ended.last_seq, position=position_text(ended.position))
            position = ended.position
        with self.log.naming() as db:
            self._move(db, after)
            insert_chunks(db, drafts, places, milliseconds(self.log.owner.clock()))
            consume(db, drafts[0].first_seq, keys)
        self.state, self.position = after, position

    def _check_disk(self, nbytes: int) -> None:
        """`LogFull` when an append would take the room that processing what is captured needs."""
        space = disk_space(self.log.segments)
        if space is not None and not space.has_room_for(nbytes):
            reason = (
                f"{nbytes:,} bytes are to be written and {space.free:,} are free, of which {space.headroom:,} are "
                "left for processing what was captured"
            )
            raise full(self.log.segments, reason)

    def _move(self, db: sqlite3.Connection, after: State) -> None:
        """Move the log's state on from where this owner left it; if it is elsewhere, another owner wrote."""
        if not move_state(db, self.state, after):
            raise self.log.index.fenced("it does not stand where this owner left it")

    def not_there(self, cursor: str, seq: int) -> NotInLog:
        """The error for a cursor that stands where the log has nothing."""
        return NotInLog(
            f"The cursor {cursor!r} cannot stand at {seq}: the inbox of {self.log.identity.name!r} has forgotten all "
            f"up to {self.state.trimmed}, and ends at {self.state.end}.",
            remedy="Declare a cursor before what it needs is trimmed, and only at events that can be seen.",
            source=self.log.identity.name,
        )

    def _refuse_going_back(self, position: Position) -> None:
        if self.position is not None and position.compare(self.position) is Order.BEFORE:
            raise InvalidAppend(
                f"The inbox of {self.log.identity.name!r} stands at {self.position}, and the append ends before it, "
                f"at {position}.",
                remedy="Go on reading the source from `position()`; a source that was reset needs a new inbox.",
                source=self.log.identity.name,
            )


def _last_ended(drafts: Sequence[Draft]) -> Draft | None:
    """The last chunk in which a transaction ends; it ends with that transaction."""
    return next((draft for draft in reversed(drafts) if len(draft.ends)), None)
