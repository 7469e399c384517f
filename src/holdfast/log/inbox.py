"""The durable log between a source and Spark: its owner appends events, each with the source's position after it.

An append returns after its bytes were synced and one commit of the index made them visible, together with the source's
position and the idempotency keys they consumed. So capture goes on from what the inbox says, and from nothing else. A
transaction becomes visible when it is finished; what a crash left unfinished is dropped at the next opening.

It does not read (see `reader`), and it deletes only when told to (see `trim`).
"""

from __future__ import annotations

from threading import Condition, RLock
from typing import TYPE_CHECKING

from holdfast.log import inbox_control as control
from holdfast.log.group_commit import GroupCommit
from holdfast.log.inbox_store import InboxStore
from holdfast.log.keys import forget as forget_keys
from holdfast.log.keys import keep_newest
from holdfast.log.opening import Owner
from holdfast.log.pushes import Push
from holdfast.log.restoring import to_restore
from holdfast.model.clock import Clock, utc_now
from holdfast.model.closing import Closing
from holdfast.model.errors import InvalidAppend, LogQuota
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Self

    import pyarrow as pa

    from holdfast.log.keys import Key
    from holdfast.log.values import Appended, Keep, Retained, Trimmed
    from holdfast.model.positions import Position


class Inbox(Closing):
    """The one writer of an inbox. Its methods may be called from any thread of the process that opened it."""

    def __init__(self, store: InboxStore, *, quota: int | None, flush_interval: float) -> None:
        self._store = store
        self._quota = quota
        self._is_closed = False
        self._lock = RLock()
        self._room = Condition(self._lock)
        self.name = store.log.identity.name
        self.uuid = store.log.identity.uuid
        self._pushes = GroupCommit(self._flush, interval=flush_interval, name=self.name)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        name: str,
        epoch: int,
        quota: int | None = None,
        flush_interval: float = 0.05,
        hook: StepHook = no_hook,
        clock: Clock = utc_now,
    ) -> Self:
        """Make or reopen the inbox of the source `name`, as the owner of this epoch.

        Raises `LogFenced` when a later owner has it, `LogMissing` when a part of it is gone, and `ForeignLog` when the
        directory is something else.

        :param quota: appends wait while so many bytes are kept; a transaction that was begun is always let in.
        :param flush_interval: after how many seconds, about, a push is durable: it waits for others meanwhile.
        """
        store = InboxStore(directory, name, Owner(epoch, hook, clock), quota)
        return cls(store, quota=quota, flush_interval=flush_interval)

    def end(self) -> int:
        """The last event that is durable and ends a transaction; 0 when there is none."""
        return self._store.state.end

    def position(self) -> Position | None:
        """Where the source stands after `end`: capture goes on from there."""
        return self._store.position

    def has_room(self) -> bool:
        """Whether the quota lets an append in now.

        A transaction that was begun is always let in: to wait in the middle of it would free nothing.
        """
        is_below = self._quota is None or self._store.state.nbytes < self._quota
        return is_below or self._store.is_in_transaction or self._is_closed

    def append(
        self,
        events: pa.RecordBatch,
        *,
        position: Position,
        keys: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Appended:
        """Make events durable; they are when this returns. On an error none of them can be seen.

        The column `tx_end` marks where transactions end, and a transaction may go on over several appends. The column
        `position` says where the event stands in the source: for most kinds the text of the position after it, for the
        others what their `at_row` reads.

        :param events: of the schema `CAPTURED`.
        :param position: where the source stands after all of them. Without events, it just moves the position on.
        :param keys: one for each event; an event whose key was consumed before is left out.
        :param timeout: how long to wait for room under the quota, in seconds, before `LogQuota`.
        """
        with self._lock:
            if events.num_rows:
                self._wait_for_room(timeout)
            appended = self._store.append(events, position, keys)
            self._room.notify_all()
            return appended

    def restore(self, events: Mapping[str, pa.Table], *, timeout: float | None = None) -> Appended:
        """Let events come back that were dead letters, between two transactions; durable when this returns.

        An event keeps its identity and its `seq`, and is a transaction of its own.

        :param events: by the entry of the dead letters that each was, one row of the schema `ENVELOPE`. The entry is
            its key: what came back before is left out.
        :param timeout: how long to wait for room and for the end of a transaction, in seconds, before `LogQuota`.
        """
        batch = to_restore(events, self.name)
        with self._lock:
            if not self._room.wait_for(self._may_restore, timeout):
                raise self._no_room()
            return self._store.restore(batch, list(events))

    def forget_unfinished(self) -> None:
        """Forget a transaction that was begun and not ended: its source is about to be read again from `position`."""
        with self._lock:
            if self._store.is_in_transaction:
                self._store.forget_unfinished()
                self._room.notify_all()

    def push(
        self, events: pa.RecordBatch, *, keys: Sequence[Key] | None = None, timeout: float | None = None
    ) -> Future[Appended]:
        """Hand in whole transactions that came from no place, as from a socket; durable when the future is done.

        The inbox gives each event its place and its identity: the columns `position` and `event_id` are filled in from
        its number, and the source's position is that number; a transaction without a `tx_id` gets the number of its
        last event. The other parameters are those of `append`.

        :param keys: one for each event, or None for an event that goes with the one that ends its transaction.
        """
        push = Push.of(events, keys)
        if not self.has_room():
            with self._lock:
                self._wait_for_room(timeout)
        self._pushes.submit(push, timeout)
        return push.future

    def set_cursor(self, name: str, seq: int) -> None:
        """Declare a reader that is done with events up to this one. What it still needs is not forgotten."""
        with self._lock:
            if not self._store.state.trimmed <= seq <= self._store.state.end:
                raise self._store.not_there(name, seq)
            with self._store.log.index.committing() as db:
                control.write_cursor(db, name, seq)

    def drop_cursor(self, name: str) -> None:
        """Forget a reader."""
        with self._lock, self._store.log.index.committing() as db:
            control.delete_cursor(db, name)

    def cursors(self) -> dict[str, int]:
        """The declared readers, and up to where each is done."""
        with self._lock, self._store.log.index.reading() as db:
            return control.read_cursors(db)

    def trim(self, *, keep: Keep | None = None) -> Trimmed:
        """Forget the chunks that every declared reader is done with, unless they are to be kept longer.

        While no reader is declared, nothing is forgotten.
        """
        with self._lock:
            try:
                return self._store.trim(keep)
            finally:
                self._room.notify_all()

    def retained(self) -> Retained:
        """What is there, and who holds it."""
        with self._lock, self._store.log.index.reading() as db:
            return control.retained(db)

    def pause_admission(self, reason: str = "paused") -> None:
        """Let readers take in nothing more, until every reason to pause is gone."""
        with self._lock, self._store.log.index.committing() as db:
            control.pause(db, reason)

    def resume_admission(self, reason: str = "paused") -> None:
        """This reason to pause is gone."""
        with self._lock, self._store.log.index.committing() as db:
            control.resume(db, reason)

    def skip(self, seqs: Iterable[int], *, reason: str) -> None:
        """Let readers leave these events out from now on: they can never be processed."""
        with self._lock:
            self._store.log.owner.hook(Step.INBOX_SKIP)
            with self._store.log.index.committing() as db:
                control.skip(db, seqs, reason)
            self._store.log.owner.hook(Step.INBOX_SKIPPED)

    def forget_keys(self, through: int) -> int:
        """Forget the idempotency keys of events up to this one; how many there were. A trim does not do it."""
        with self._lock, self._store.log.index.committing() as db:
            return forget_keys(db, through)

    def keep_keys(self, newest: int) -> int:
        """Forget all idempotency keys but so many of the newest; how many were forgotten."""
        with self._lock, self._store.log.index.committing() as db:
            return keep_newest(db, newest)

    def close(self) -> None:
        """Finish the pushes under way, and give up the files."""
        self._pushes.close()
        with self._lock:
            self._is_closed = True
            self._store.log.close()
            self._room.notify_all()

    def _wait_for_room(self, timeout: float | None) -> None:
        if not self._room.wait_for(self.has_room, timeout):
            raise self._no_room()

    def _no_room(self) -> LogQuota:
        return LogQuota(
            f"The inbox of {self.name!r} holds {self._store.state.nbytes} bytes, and its quota is {self._quota}.",
            remedy="Let its readers go on, trim it, or raise the quota; `retained()` says who holds it.",
            source=self.name,
        )

    def _may_restore(self) -> bool:
        return self._is_closed or (self.has_room() and not self._store.is_in_transaction)

    def _flush(self, pushes: list[Push]) -> None:
        """Make pushes durable together; if one of them spoils that, each for itself."""
        try:
            with self._lock:
                results = self._store.push(pushes) if pushes else []
        except InvalidAppend as error:
            if len(pushes) == 1:
                pushes[0].future.set_exception(error)
            else:
                for push in pushes:
                    self._flush([push])
        except BaseException as error:
            for push in pushes:
                push.future.set_exception(error)
        else:
            for push, result in zip(pushes, results, strict=True):
                push.future.set_result(result)
