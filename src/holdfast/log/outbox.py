"""The durable log between Spark and the sinks. Its unit is the batch: published once, under a number never used again.

Publishing names parts that Spark's tasks have written, in one commit. A batch that Spark runs again is recognised by
its generation and id, and must then have the same query, starts and ends. Batches go when the ledger releases them.
"""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING
from uuid import UUID

from holdfast.log import outbox_index as rows
from holdfast.log.disk import remove, sizes
from holdfast.log.opening import Owner, claim, open_owned
from holdfast.log.parts import epoch_of_part, part_name, read_parts, write_part
from holdfast.log.redelivery import addressed, batch_id, redelivery
from holdfast.log.retention import forgettable
from holdfast.log.segment import verify_present
from holdfast.log.values import Keep, NewBatch, PartRef, Published, Retained
from holdfast.model.clock import Clock, utc_now
from holdfast.model.closing import Closing
from holdfast.model.errors import BatchDiverged, LogMissing, NotInLog
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

    import pyarrow as pa

    from holdfast.model.positions import Position

NAME = "outbox"


class Outbox(Closing):
    """The one writer of an outbox, and its reader. Its methods may be called from any thread of its process."""

    def __init__(
        self, directory: Path, owner: Owner, *, quota: int | None, keep: Keep | None, keep_batches: int | None
    ) -> None:
        self.parts_directory = directory / rows.DIRECTORY
        self._owner = owner
        self._quota = quota
        self._keep = keep
        self._keep_batches = keep_batches
        self._lock = RLock()
        self._index, identity = open_owned(directory, rows.LAYOUT, name=NAME, owner=owner)
        self.uuid = identity.uuid
        try:
            self._take_over()
        except BaseException:
            self._index.close()
            raise

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        epoch: int,
        quota: int | None = None,
        keep: Keep | None = None,
        keep_batches: int | None = None,
        hook: StepHook = no_hook,
        clock: Clock = utc_now,
    ) -> Self:
        """Make or reopen the outbox, as the owner of this epoch.

        Raises `LogFenced` when a later owner has it, `LogMissing` when a part of it is gone, and `ForeignLog` when the
        directory is something else.

        :param quota: there is no room for another batch while so many bytes are kept.
        :param keep: keeps released batches longer.
        :param keep_batches: but none behind so many of the newest; None for as many as `keep` lets stay.
        """
        return cls(directory, Owner(epoch, hook, clock), quota=quota, keep=keep, keep_batches=keep_batches)

    @property
    def generation(self) -> int:
        """The present generation; the first is 1."""
        return self._state().generation

    def last_oseq(self) -> int:
        """The highest number ever given out; 0 when there is none."""
        return self._state().last_oseq

    def trimmed(self) -> int:
        """Batches up to this one are gone."""
        return self._state().trimmed

    def batches(self, after: int = 0) -> list[Published]:
        """The batches that can be read, behind `after`, ascending; those that a rollback voided are left out."""
        with self._lock, self._index.reading() as db:
            return rows.select(db, "oseq > max(?, (SELECT trimmed FROM state))", after)

    def get(self, oseq: int) -> Published:
        """The batch of this number; `NotInLog` when it is gone, void, or was never there."""
        with self._lock, self._index.reading() as db:
            found = rows.select(db, "oseq = ? AND oseq > (SELECT trimmed FROM state)", oseq)
        if not found:
            raise self._not_there(oseq)
        return found[0]

    def positions_at(self, oseq: int) -> Mapping[str, Position]:
        """Where the sources stood after a batch, also when it is gone; nothing when it is on record no more."""
        with self._lock, self._index.reading() as db:
            return next((batch.positions for batch in rows.select(db, "oseq = ?", oseq)), {})

    def find(self, batch_id: int, generation: int | None = None) -> Published | None:
        """The batch under which Spark's batch was published, if it was; its parts may be gone."""
        with self._lock, self._index.reading() as db:
            number = rows.read_state(db).generation if generation is None else generation
            return next(iter(rows.select(db, "generation = ? AND batch_id = ?", number, batch_id)), None)

    def newest(self) -> Published | None:
        """The newest batch of Spark in the present generation; its parts may be gone."""
        with self._lock, self._index.reading() as db:
            return rows.newest(db, rows.read_state(db).generation)

    def remembered(self) -> list[Published]:
        """Spark's batches of the present generation that are on record, ascending; their parts may be gone."""
        with self._lock, self._index.reading() as db:
            return rows.select(db, "generation = ? AND batch_id >= 0", rows.read_state(db).generation)

    def publish(self, batch: NewBatch) -> Published:
        """Make a batch visible to the lanes, in one commit. The same batch again is returned as it was published.

        Raises `BatchDiverged` when the batch was published with another query, other starts or other ends.
        """
        with self._lock:
            self._owner.hook(Step.OUTBOX_PUBLISH)
            with self._index.committing() as db:
                published = self.find(batch.batch_id)
                if published is None:
                    verify_present(self.parts_directory, {part.file: part.length for part in batch.parts})
                    published = rows.insert(db, batch, rows.read_state(db), self._owner.clock())
            if not _is_same(published, batch):
                raise _diverged(published, batch)
            self._owner.hook(Step.OUTBOX_PUBLISHED)
            return published

    def redeliver(self, table: pa.Table, *, lane: str, entries: Sequence[str]) -> Published | None:
        """Publish rows that were dead letters once more, for one lane only; None when all of them were before.

        :param entries: the entry of the dead letters that each row was. A row is redelivered once.
        """
        with self._lock:
            with self._index.reading() as db:
                known, state = rows.redelivered(db, entries), rows.read_state(db)
            fresh = [place for place, entry in enumerate(entries) if entry not in known]
            if not fresh:
                return None
            oseq = state.last_oseq + 1
            part = self._written(addressed(table.take(fresh), lane), state.generation, batch_id(oseq))
            self._owner.hook(Step.OUTBOX_PUBLISH)
            with self._index.committing() as db:
                published = rows.insert(db, redelivery(part, lane, oseq), state, self._owner.clock())
                rows.insert_redelivered(db, [entries[place] for place in fresh], oseq)
            self._owner.hook(Step.OUTBOX_PUBLISHED)
            return published

    def open_generation(self, *, reason: str, void_after: int | None = None) -> int:
        """Start a new generation, as after a rollback or for a new query. Its number.

        :param void_after: batches behind this one are void: nobody is given them any more.
        """
        with self._lock, self._index.committing() as db:
            number = rows.read_state(db).generation + 1
            rows.open_generation(db, reason, void_after, self._owner.clock(), number)
            return number

    def hold(self, after: int) -> None:
        """Batches behind this one are needed again, as when a lane goes back: they are released anew, or not at all."""
        with self._lock, self._index.committing() as db:
            db.execute("UPDATE state SET released = min(released, ?)", (after,))

    def go_back(self, to: Published, *, generation: int, reason: str, revive_after: int | None = None) -> None:
        """Open this generation behind an earlier batch: later ones are void. Once it is open nothing is changed.

        What the query published up to there is the new generation's own: Spark goes on behind it.

        :param revive_after: void batches behind this one, up to `to`, are valid again.
        """
        with self._lock, self._index.committing() as db:
            if rows.read_state(db).generation < generation:
                if revive_after is not None:
                    rows.revive(db, revive_after, to.oseq)
                rows.open_generation(db, reason, to.oseq, self._owner.clock(), generation)
                rows.adopt(db, to, generation)

    def read(self, oseq: int) -> pa.Table:
        """The rows of a batch, verified and in order: part by part, and by `seq` if they have one.

        A batch without parts has no rows and no columns. `LogFenced` when a newer owner has let it go.
        """
        try:
            return read_parts(self.parts_directory, self.get(oseq).parts)
        except (NotInLog, LogMissing):
            self._index.check_owner()
            raise

    def release(self, through: int) -> None:
        """Nobody needs batches up to this one any more; they go, unless they are to be kept longer."""
        with self._lock:
            with self._index.committing() as db:
                state = rows.read_state(db)
                if through > state.last_oseq:
                    raise self._not_there(through)
                db.execute("UPDATE state SET released = max(released, ?)", (through,))
            self._trim(self._keep)

    def forget_delivered(self) -> None:
        """Let every batch go that nobody needs any more, also those that are to be kept longer: the disk is short."""
        with self._lock:
            self._trim(None)

    def retained(self) -> Retained:
        """What is still there."""
        with self._lock, self._index.reading() as db:
            return rows.retained(db)

    def has_room(self) -> bool:
        """Whether another batch may be computed: the quota is not reached, or nothing is kept at all.

        What is kept longer than it is needed makes room.
        """
        if self._quota is None or self._has_room(self._quota):
            return True
        with self._lock:
            self._trim(self._keep)
        return self._has_room(self._quota)

    def close(self) -> None:
        """Give up the files; what was published stays."""
        self._index.close()

    def _has_room(self, quota: int) -> bool:
        retained = self.retained().nbytes
        return retained == 0 or retained < quota

    def _state(self) -> rows.State:
        with self._lock, self._index.reading() as db:
            return rows.read_state(db)

    def _written(self, table: pa.Table, generation: int, batch: int) -> PartRef:
        epoch, attempt = self._owner.epoch, UUID(self._owner.new_uuid()).int
        name = part_name(epoch=epoch, generation=generation, batch_id=batch, partition=0, attempt=attempt)
        return write_part(self.parts_directory, name, table.to_batches(), table.schema, hook=self._owner.hook)

    def _take_over(self) -> None:
        """Become the owner, see that all parts are there, and remove those that nobody will ever publish."""
        there = sizes(self.parts_directory)
        epochs = {name: epoch_of_part(name) for name in there}
        claim(self._index, found=epochs.values())
        with self._index.reading() as db:
            state = rows.read_state(db)
            named = rows.named_parts(db, state.trimmed, state.last_oseq)
        verify_present(self.parts_directory, named)
        earlier = [name for name, epoch in epochs.items() if epoch is not None and epoch < self._owner.epoch]
        remove(self.parts_directory, [name for name in earlier if name not in named])

    def _trim(self, keep: Keep | None) -> None:
        """Forget what was released: first in the index, then on disk; what a crash leaves there is swept later."""
        with self._index.reading() as db:
            state = rows.read_state(db)
            gone = forgettable(
                rows.items(db),
                after=state.trimmed,
                needed_from=state.released + 1,
                total=rows.retained(db).nbytes,
                keep=keep,
                keep_from=0 if self._keep_batches is None else state.last_oseq - self._keep_batches + 1,
                now=self._owner.clock(),
            )
        if gone.through == state.trimmed:
            return
        self._owner.hook(Step.OUTBOX_TRIM)
        names = self._forget(state.trimmed, gone.through)
        self._owner.hook(Step.OUTBOX_TRIMMED)
        self._remove(names)

    def _forget(self, after: int, through: int) -> list[str]:
        """Let the index forget the parts of these batches; their names."""
        with self._index.committing() as db:
            names = rows.named_parts(db, after, through)
            rows.forget_parts(db, through)
        return list(names)

    def _remove(self, names: list[str]) -> None:
        """Remove parts from the disk. The index must not name them any more, or the outbox cannot be opened."""
        remove(self.parts_directory, names)
        self._owner.hook(Step.OUTBOX_REMOVED)

    def _not_there(self, oseq: int) -> NotInLog:
        state = self._state()
        return NotInLog(
            f"The outbox has no batch {oseq} to give: it has published up to {state.last_oseq}, and those up to "
            f"{state.trimmed} are gone.",
            remedy="Ask for a batch that `batches()` lists.",
            oseq=oseq,
        )


def _is_same(published: Published, batch: NewBatch) -> bool:
    mine, theirs = ((each.query_id, dict(each.starts), dict(each.ends)) for each in (published, batch))
    return mine == theirs


def _diverged(published: Published, batch: NewBatch) -> BatchDiverged:
    return BatchDiverged(
        f"Spark's batch {batch.batch_id} was published as batch {published.oseq} of query {published.query_id} over "
        f"{dict(published.starts)} to {dict(published.ends)}; now it comes from query {batch.query_id} over "
        f"{dict(batch.starts)} to {dict(batch.ends)}.",
        kept="What was published stays as it is.",
        remedy="Spark's checkpoint and the outbox do not belong together: roll back, or start a new generation.",
        oseq=published.oseq,
        batch_id=batch.batch_id,
    )
