"""Bugs to be planted into the process that is crashed, and for each the cell of the matrix that must notice it.

A bug stays in for all lives of the pipeline, as it would in the product. What it replaces must be there: a bug that
no longer fits the code fails instead of being found harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from holdfast.capture import runner
from holdfast.deliver import SinkSpec
from holdfast.deliver.conductor import Conductor
from holdfast.deliver.courier import Courier
from holdfast.deliver.deadletters import LaneDeadLetters
from holdfast.deliver.gate import Gate
from holdfast.deliver.keeping import CursorKeeper
from holdfast.deliver.worker import Worker
from holdfast.log import dead_entry, inbox_store, outbox, outbox_index, parts
from holdfast.log.inbox import Inbox
from holdfast.log.segmented import SegmentedLog
from holdfast.model.steps import Step, no_hook
from holdfast.runtime.isolator import Isolator
from holdfast.runtime.publisher import Evaluation, Publisher
from holdfast.runtime.spark_checkpoint import Plan, SparkCheckpoint
from holdfast.runtime.undertaker import Undertaker
from holdfast.sinks import Files, Sqlite
from holdfast.sinks.filesystem.folder import Drafts
from holdfast.sinks.sql import cursors, sink
from holdfast.sinks.sql.cursors import is_due
from holdfast.sinks.sql.sink import SqlSink
from tests.support.crash.matrix import Cell, Loss, When

if TYPE_CHECKING:
    import sqlite3
    from datetime import datetime

    import pyarrow as pa

    from holdfast.capture import Captured
    from holdfast.deliver import Sink, SinkBatch
    from holdfast.deliver.job import Job
    from holdfast.deliver.taking import Attempt
    from holdfast.ledger import Cursors
    from holdfast.log import NewBatch, Published
    from holdfast.log.outbox_index import State
    from holdfast.log.segment import Piece, Place
    from holdfast.log.slices import Range
    from holdfast.process.guarding import FailedRow

Plant = Callable[[], None]


@dataclass(frozen=True)
class Bug:
    """A bug and how it is noticed."""

    plant: Plant
    step: Step
    when: When
    loss: Loss
    complaint: str
    """What must be complained about."""

    @property
    def cell(self) -> Cell:
        """Where it is noticed."""
        return Cell(self.step, self.when, self.loss, bug=self.plant.__name__)


def put(owner: object, name: str, new: object) -> None:
    """Replace something that is there."""
    assert hasattr(owner, name), f"{owner!r} has no {name} any more: plant the bug anew"
    setattr(owner, name, new)


def unwatched(kind: type[Sink]) -> None:
    """Let the steps of this sink be nobody's business, so that those of the other one can be counted."""
    open_ = kind.open
    put(kind, "open", lambda self, identity: open_(self, replace(identity, hook=no_hook)))


# Capture and the inbox


def position_of_the_next_transaction() -> None:
    """Of what was read, whole transactions are appended, but with the position behind the rest too."""
    framed = runner.framed

    def hasty(captured: Captured) -> tuple[Captured, Captured | None]:
        whole, begun = framed(captured)
        return replace(whole, position=captured.position), begun

    put(runner, "framed", hasty)


def index_before_sync() -> None:
    """Events become visible before their bytes are on disk."""
    naming = SegmentedLog.naming

    def append(self: SegmentedLog, pieces: Iterator[Piece]) -> list[Place]:
        self.owner.hook(self._steps.write)
        return self.writer.write(pieces)

    @contextmanager
    def name_then_sync(self: SegmentedLog) -> Iterator[sqlite3.Connection]:
        with naming(self) as db:
            yield db
        self.writer.sync()

    put(SegmentedLog, "append", append)
    put(SegmentedLog, "naming", name_then_sync)


def unfinished_transaction_kept() -> None:
    """What is behind the last end of a transaction stays after a crash, and is read from the source once more."""
    put(inbox_store, "_INBOX", replace(inbox_store._INBOX, recover=lambda db: None))
    put(Inbox, "forget_unfinished", lambda self: None)


# Spark's books and the outbox


def parts_published_unsynced() -> None:
    """A batch is published while its parts are only in the memory of the machine."""
    put(parts._PartFile, "sync", lambda self: self._file.flush())
    put(parts, "sync_directory", lambda directory: None)


def plan_unsynced() -> None:
    """A batch is published although Spark's plan of it may be lost."""
    put(SparkCheckpoint, "sync_plan", lambda self, batch_id: self._hook(Step.SPARK_OFFSETS_FSYNC))


def finish_unsynced() -> None:
    """The inbox forgets what a batch has read although Spark's word that it is finished may be lost."""

    def say_only(self: SparkCheckpoint, batch_id: int) -> None:
        self._hook(Step.SPARK_COMMIT_FSYNC)
        self._hook(Step.SPARK_COMMIT_SYNCED)

    put(SparkCheckpoint, "sync_finished", say_only)


def replay_published_again() -> None:
    """A batch that Spark runs again is known only to the process that published it, and so gets another oseq."""
    known: set[int] = set()
    find, insert = outbox.Outbox.find, outbox_index.insert

    def forgetful(self: outbox.Outbox, batch_id: int, generation: int | None = None) -> Published | None:
        found = find(self, batch_id, generation)
        return found if batch_id in known else None

    def number_anew(db: sqlite3.Connection, batch: NewBatch, state: State, now: datetime) -> Published:
        known.add(batch.batch_id)
        db.execute("UPDATE batches SET batch_id = -oseq WHERE batch_id = ?", (batch.batch_id,))
        return insert(db, batch, state, now)

    put(outbox.Outbox, "find", forgetful)
    put(outbox_index, "insert", number_anew)


def parts_removed_before_they_are_forgotten() -> None:
    """The parts of a delivered batch are removed while the index still names them."""
    forget = outbox.Outbox._forget

    def remove_then_forget(self: outbox.Outbox, after: int, through: int) -> list[str]:
        with self._index.reading() as db:
            names = outbox_index.named_parts(db, after, through)
        self._remove(list(names))
        return forget(self, after, through)

    put(outbox.Outbox, "_forget", remove_then_forget)


# Rows that the steps cannot take


def failed_rows_after_the_batch() -> None:
    """Rows that a step gave up are recorded once their batch is published."""
    publish = Publisher._publish

    def publish_then_bury(self: Publisher, plan: Plan, evaluation: Evaluation) -> None:
        publish(self, plan, replace(evaluation, failed=()))
        if evaluation.failed:
            self._bury(plan, evaluation.failed)

    put(Publisher, "_publish", publish_then_bury)


def skipped_before_the_dead_letter() -> None:
    """An event that breaks the steps is skipped, and recorded afterwards."""
    late: list[Callable[[], None]] = []
    bury, give_up = Undertaker.bury_event, Isolator._give_up

    def skip_then_bury(self: Isolator, row: Range, error: Exception) -> None:
        give_up(self, row, error)
        late.pop()()

    put(Undertaker, "bury_event", lambda *args: late.append(lambda: bury(*args)))
    put(Isolator, "_give_up", skip_then_bury)


def step_entries_by_chance() -> None:
    """An event that is given up again after a crash is another entry."""
    put(dead_entry, "event_entry_id", lambda *_: uuid4().hex)


# Lanes and cursors


def _wait_until_the_cursor_is_written(worker: Worker, job: Job) -> None:
    core, lane = worker._core, worker._lane.name
    assert core.wait_for(lambda: core.durable is not None and core.durable.delivered[lane] >= job.oseq, 30)


def cursor_before_the_sink() -> None:
    """The cursor is on disk before the sink has the batch."""

    def carry(self: Worker, job: Job, attempt: Attempt) -> None:
        self._resolve(job, attempt)
        _wait_until_the_cursor_is_written(self, job)
        self._courier.bring(job)

    put(Worker, "_carry", carry)
    unwatched(Sqlite)


def cursors_durable_by_word() -> None:
    """Batches are forgotten on the word that cursors are on disk which are not."""
    write = CursorKeeper.write

    def claim(self: CursorKeeper, cursors: Cursors) -> None:
        if self._core.durable is None or not self._core.is_opened():
            write(self, cursors)
        else:
            self._are_durable(cursors)

    put(CursorKeeper, "write", claim)


def dead_letters_after_the_cursor() -> None:
    """Refused rows are recorded once the cursor has passed them.

    In the first life the step's first dead letter is followed by the table's: the step waits for it with its second.
    """
    late: list[Callable[[], object]] = []
    recorded, buried = Event(), Event()
    record, resolve, bury = LaneDeadLetters.record, Worker._resolve, Undertaker.bury

    def resolve_then_record(self: Worker, job: Job, attempt: Attempt) -> None:
        resolve(self, job, attempt)
        _wait_until_the_cursor_is_written(self, job)
        while late:
            late.pop()()
            recorded.set()

    def bury_behind_the_table(self: Undertaker, plan: Plan, failed: Sequence[FailedRow]) -> None:
        assert not failed or not buried.is_set() or recorded.wait(30)
        is_the_very_first = bool(failed) and self._ground.dead_letters.count() == 0
        bury(self, plan, failed)
        if is_the_very_first:
            buried.set()

    def postpone(self: LaneDeadLetters, *args: Any, **how: Any) -> frozenset[int]:
        assert self._log.count() > 0 or buried.wait(30)
        late.append(lambda: record(self, *args, **how))
        return frozenset()

    put(LaneDeadLetters, "record", postpone)
    put(Conductor, "_see_that_rows_are_dead_letters", lambda *_: None)
    put(Worker, "_resolve", resolve_then_record)
    put(Undertaker, "bury", bury_behind_the_table)


def goes_on_behind_a_failed_batch() -> None:
    """An ordered sink is sent as many batches at once as were asked for."""
    put(SinkSpec, "workers", property(lambda self: self.max_inflight))
    put(Gate, "shared", Gate.alone)


# Sinks


def takes_any_batch() -> None:
    """A SQL sink takes a batch without asking for the one before, from a lane that sends several at once."""
    goes_on_behind_a_failed_batch()

    def advance(self: cursors.Cursors, db: sqlite3.Connection, batch: SinkBatch) -> None:
        lane, where = self.lane, "WHERE pipeline = ?2 AND lane = ?3 AND outbox = ?4"
        values = (batch.oseq, lane.pipeline, lane.lane, lane.outbox)
        db.execute(f"UPDATE {self.table} SET oseq = ?1 {where}", values)

    put(sink, "is_due", lambda standing, lane, batch: standing.oseq < batch.oseq)
    put(cursors.Cursors, "advance", advance)
    put(Courier, "_is_in_the_sink", lambda self, job, error: False)


def files_under_random_names() -> None:
    """A batch that is delivered again finds no file of its own."""
    new = Drafts.new

    def named_by_chance(self: Drafts) -> pa.NativeFile:
        self._stem = f"{self._stem.rpartition('~')[0] or self._stem}~{uuid4().hex}"
        return new(self)

    put(Drafts, "new", named_by_chance)
    unwatched(Sqlite)


def rows_and_cursor_apart() -> None:
    """The rows of a batch are committed, and then the sink's own cursor."""

    def deliver(self: SqlSink[sqlite3.Connection], batch: SinkBatch) -> None:
        owner = self._owned()
        with self._session.transaction() as db:
            if not is_due(owner.standing(db), owner.lane, batch):
                return
            if batch.rows.num_rows:
                self._prepare(db, batch.rows)
                self._write(db, batch.rows)
        owner.lane.hook(Step.SINK_COMMIT)
        with self._session.transaction() as db:
            owner.advance(db, batch)

    put(SqlSink, "deliver", deliver)
    unwatched(Files)


BUGS = [
    Bug(position_of_the_next_transaction, Step.INBOX_WRITE, When.SECOND, Loss.PROCESS, "files: .* missing, first .12"),
    Bug(index_before_sync, Step.INBOX_INDEXED, When.FIRST, Loss.POWER, "HF-505"),
    Bug(unfinished_transaction_kept, Step.INBOX_INDEXED, When.SECOND, Loss.PROCESS, "files: .* doubled, first .12"),
    Bug(parts_published_unsynced, Step.OUTBOX_PUBLISHED, When.FIRST, Loss.POWER, "HF-505"),
    Bug(plan_unsynced, Step.OUTBOX_PUBLISHED, When.FIRST, Loss.POWER, "checkpoint is gone"),
    Bug(finish_unsynced, Step.INBOX_TRIMMED, When.FIRST, Loss.POWER, "its inbox holds"),
    Bug(replay_published_again, Step.SPARK_FINISH, When.SECOND, Loss.PROCESS, "sqlite: .* doubled"),
    Bug(parts_removed_before_they_are_forgotten, Step.OUTBOX_REMOVED, When.FIRST, Loss.PROCESS, "HF-505"),
    Bug(failed_rows_after_the_batch, Step.DEAD_LETTER_WRITE, When.FIRST, Loss.PROCESS, "files: .* missing, first .50"),
    Bug(skipped_before_the_dead_letter, Step.INBOX_SKIPPED, When.FIRST, Loss.PROCESS, "files: .* missing, first .250"),
    Bug(step_entries_by_chance, Step.INBOX_SKIP, When.FIRST, Loss.PROCESS, "files: .* doubled, first .250"),
    Bug(cursor_before_the_sink, Step.SINK_WRITE, When.FIRST, Loss.PROCESS, "files: .* missing"),
    Bug(cursors_durable_by_word, Step.OUTBOX_TRIMMED, When.FIRST, Loss.PROCESS, "HF-211"),
    Bug(dead_letters_after_the_cursor, Step.DEAD_LETTER_WRITE, When.SECOND, Loss.PROCESS, "removed: 1 missing"),
    Bug(files_under_random_names, Step.SINK_COMMITTED, When.FIRST, Loss.PROCESS, "files: .* doubled"),
    Bug(rows_and_cursor_apart, Step.SINK_COMMIT, When.FIRST, Loss.PROCESS, "sqlite: .* doubled"),
]


def planted(name: str) -> None:
    """Plant the bug of this name: one of those above, or one that another test knows how to notice."""
    plant: Plant = globals()[name]
    plant()
