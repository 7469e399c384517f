"""Everything of a pipeline that is on disk, opened together and under one epoch. It starts no thread and no JVM.

What the pipeline remembers is compared with what is there: an inbox that was removed or made anew, a checkpoint of
Spark that does not fit the outbox. Each is explained; nothing is started afresh unasked.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.capture.contract import Receiver
from holdfast.checkpoint import CURSORS, RecoveryPath
from holdfast.flow.exits import Exit
from holdfast.log import DeadLetterLog, Inbox, InboxReader, Outbox
from holdfast.log.disk import make_directory
from holdfast.model.clock import utc_now
from holdfast.model.errors import LogError, LogMissing, PipelineDiverged
from holdfast.runtime.agreement import Continuation, OutboxBatch, SparkStands, agree
from holdfast.runtime.checkpoints.recovering import Checkpoints, open_checkpoints
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import Ownership, Takeover
from holdfast.runtime.records import GENERATION, HISTORY, LOGS, PAUSE, Generation, Logs, Pause
from holdfast.runtime.restarts import History
from holdfast.runtime.rollback.carrying import Owned, carry_out_what_was_intended
from holdfast.runtime.rollback.records import ROLLBACKS
from holdfast.runtime.rollback.records import History as Rollbacks
from holdfast.runtime.spark_checkpoint import SparkCheckpoint

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.capture.contract import Input
    from holdfast.checkpoint import CheckpointStore
    from holdfast.model.positions import Position
    from holdfast.model.steps import StepHook
    from holdfast.runtime.plan import Plan


log = logging.getLogger("holdfast")

_BATCHES_KEPT_FOR_SINKS = 100
"""How many batches at most stay in the outbox although every sink has them: as many as Spark keeps in its books."""
_BATCHES_A_SECOND, _COPIES_COVERED, _MOST_BATCHES_KEPT = 10, 3, 5_000
"""Which batches stay for the sake of a remote copy: those that may come until it is made the third time."""
_FIRST_GENERATION = 1
"""In which every pipeline begins; later ones are on record."""


class Accept(Enum):
    """What a start may do about a checkpoint of Spark that is gone or does not fit."""

    NOTHING = "nothing"
    NEW_GENERATION = "new generation"
    """Continue behind the newest published batch, with the state of stateful steps empty."""


@dataclass
class Ground:
    """The open logs and stores of a pipeline, owned by this process."""

    plan: Plan
    layout: Layout
    checkpoints: Checkpoints
    store: CheckpointStore
    """That of the checkpoints."""
    epoch: int
    inboxes: Mapping[str, Inbox]
    """By the name of the source."""
    outbox: Outbox
    dead_letters: DeadLetterLog
    readers: Mapping[str, InboxReader]
    """By the uuid of the inbox."""
    opened: ExitStack
    """Everything that is to be closed, the ownership last."""
    hook: StepHook
    ownership: Ownership
    checkpoint: SparkCheckpoint = field(init=False)

    @classmethod
    def open(cls, plan: Plan, *, takeover: Takeover, accept: Accept, hook: StepHook) -> Ground:
        """Take ownership, open everything, and check that it belongs together."""
        layout = Layout(plan.directory.absolute())  # executors of a cluster work in directories of their own
        with ExitStack() as opened:
            ownership = Ownership.take(layout.root, takeover=takeover)
            opened.callback(ownership.release)
            checkpoints = open_checkpoints(plan, layout)
            opened.callback(checkpoints.close)
            store, epoch, known = checkpoints.store, checkpoints.epoch, checkpoints.logs
            inboxes = {
                source.name: opened.enter_context(_inbox(source, plan, layout, known, epoch, hook))
                for source in plan.sources
            }
            outbox = opened.enter_context(
                Outbox.open(
                    layout.outbox,
                    epoch=epoch,
                    quota=plan.quotas.outbox,
                    keep=plan.outbox_keep,
                    keep_batches=_batches_kept(plan),
                    hook=hook,
                )
            )
            store.put(LOGS, _with(known, inboxes, outbox), epoch=epoch)
            dead_letters = opened.enter_context(
                DeadLetterLog.open(layout.dead_letters, epoch=epoch, limits=plan.dead_letters, hook=hook)
            )
            readers = {
                inbox.uuid: opened.enter_context(InboxReader.open(layout.inbox(name)))
                for name, inbox in inboxes.items()
            }
            _check_no_rollback_comes_again(checkpoints, outbox)
            if checkpoints.recovery is not RecoveryPath.LOCAL:
                _pass_over_what_is_gone(store, epoch, plan, outbox)
            carry_out_what_was_intended(Owned(plan, layout, store, epoch, inboxes, outbox, hook))
            ground = cls(
                plan, layout, checkpoints, store, epoch, inboxes, outbox, dead_letters, readers, opened, hook, ownership
            )
            ground.settle_generation(accept)
            ground.continuation()
            _note_begin(store, epoch, plan)
            ground.opened = opened.pop_all()
        return ground

    def continuation(self) -> Continuation:
        """Where Spark goes on reading; `PipelineDiverged` when that cannot be said."""
        found = agree(_stands(self.checkpoint), _published(self.outbox), self.checkpoint.initial)
        for name, inbox in self.inboxes.items():
            newest = max(ends.get(inbox.uuid, 0) for ends in (found.start, *found.recorded))
            _check_holds(name, inbox, found.reads_from.get(inbox.uuid, 0), newest)
        return found

    def settle_generation(self, accept: Accept) -> None:
        """Finish a change of generation that a crash cut short, and open a new one when that was accepted."""
        recorded = self.store.get(GENERATION) or Generation(_FIRST_GENERATION)
        if recorded.number < self.outbox.generation:
            raise _older_generation(recorded.number, self.outbox.generation)
        if recorded.number > self.outbox.generation:
            self.outbox.open_generation(reason="a change of generation that was cut short")
        self._enter(recorded)
        if accept is Accept.NEW_GENERATION:
            newest = self.outbox.newest()
            fresh = Generation(recorded.number + 1, dict(newest.ends) if newest else recorded.initial)
            self.store.put(GENERATION, fresh, epoch=self.epoch)
            self.outbox.open_generation(reason="accepted at start")
            self._enter(fresh)

    def positions(self, ends: Mapping[str, int]) -> dict[str, Position]:
        """Where each source stands after a batch that is about to be published.

        One that did not move stands where it did: its inbox may have forgotten everything up to there.
        """
        newest = self.outbox.newest()
        before, known = (newest.ends, newest.positions) if newest else (self.checkpoint.initial, {})

        def place(name: str, inbox: Inbox) -> Position | None:
            end = ends.get(inbox.uuid, 0)
            is_at_rest = end == before.get(inbox.uuid, 0)
            return known.get(name) if is_at_rest else self.readers[inbox.uuid].position_at(end)

        found = {name: place(name, inbox) for name, inbox in self.inboxes.items()}
        return {name: position for name, position in found.items() if position is not None}

    def unprocessed(self) -> dict[str, int]:
        """By source, how many captured events no batch of Spark holds yet; sources without such events are left out."""
        newest = self.outbox.newest()
        ends = newest.ends if newest else self.checkpoint.initial
        waiting = {name: inbox.end() - ends.get(inbox.uuid, 0) for name, inbox in self.inboxes.items()}
        return {name: count for name, count in waiting.items() if count > 0}

    def captured_at(self, oseq: int) -> datetime | None:
        """When the last event of a batch became durable; None when the inboxes cannot say, which disturbs nothing."""
        try:
            batch = self.outbox.get(oseq)
            moved = [uuid for uuid in batch.ends.keys() & self.readers if batch.ends[uuid] > batch.starts.get(uuid, 0)]
            times = [self.readers[uuid].appended_at(batch.ends[uuid]) for uuid in moved]
        except LogError:
            return None
        return max((time for time in times if time is not None), default=None)

    @property
    def pause(self) -> Pause:
        """Whether the pipeline is paused, in this run or since an earlier one."""
        return self.store.get(PAUSE) or Pause()

    def note_pause(self, pause: Pause) -> None:
        """Let the pipeline be paused, or not, also after a restart."""
        self.store.put(PAUSE, pause, epoch=self.epoch)

    def note_end(self, exit_: Exit, reason: str = "") -> None:
        """Write down how the run ended."""
        history = self.store.get(HISTORY) or History()
        self.store.put(HISTORY, history.ended(exit_, reason), epoch=self.epoch)

    def close(self) -> None:
        """Close everything and give up the ownership."""
        self.opened.close()

    def _enter(self, generation: Generation) -> None:
        make_directory(self.layout.spark(generation.number))
        self.checkpoint = SparkCheckpoint(
            self.layout.spark(generation.number), initial=generation.initial, hook=self.hook
        )


def _batches_kept(plan: Plan) -> int:
    """How many batches at most stay in the outbox although every sink has them.

    A sink without a cursor gets those again that a remote copy of the checkpoints does not know.
    """
    if plan.checkpoint.remote is None:
        return _BATCHES_KEPT_FOR_SINKS
    between_copies = round(_BATCHES_A_SECOND * plan.checkpoint.replicate_every.total_seconds())
    return min(max(_BATCHES_KEPT_FOR_SINKS, _COPIES_COVERED * between_copies), _MOST_BATCHES_KEPT)


def _note_begin(store: CheckpointStore, epoch: int, plan: Plan) -> None:
    """Write down that the pipeline is started. Whoever starts it is told how the last run ended, and never refused."""
    before = store.get(HISTORY) or History()
    if (end := before.last_end()) is not None:
        log.warning("pipeline %s starts again with a whole restart budget; its last run %s", plan.name, end)
    store.put(HISTORY, before.begun(utc_now()), epoch=epoch)


def _inbox(source: Input, plan: Plan, layout: Layout, known: Logs, epoch: int, hook: StepHook) -> Inbox:
    name = source.name
    directory = layout.inbox(name)
    expected = known.inboxes.get(name)
    if expected is not None and not directory.exists():
        raise _not_the_inbox(name, f"{directory} is gone")
    linger = source.linger if isinstance(source, Receiver) else 0.0
    inbox = Inbox.open(directory, name=name, epoch=epoch, quota=plan.quotas.inbox, flush_interval=linger, hook=hook)
    if expected is not None and inbox.uuid != expected:
        inbox.close()
        raise _not_the_inbox(name, f"{directory} holds another inbox, {inbox.uuid} instead of {expected}")
    return inbox


def _not_the_inbox(name: str, why: str) -> LogMissing:
    return LogMissing(
        f"The inbox of source {name!r} is not the one this pipeline read before: {why}.",
        kept="The outbox, the cursors and every sink are untouched.",
        remedy="Put the directory back, or give the source a new name to read it from its beginning.",
        source=name,
    )


def _older_generation(recorded: int, opened: int) -> PipelineDiverged:
    return PipelineDiverged(
        f"The checkpoints are of generation {recorded}, and the outbox is in generation {opened}: they are an older "
        "copy, from before a rollback or a new generation.",
        kept="Inbox, outbox, cursors and sinks are untouched.",
        remedy="Put newer checkpoints back, from an export for instance.",
    )


def _check_no_rollback_comes_again(checkpoints: Checkpoints, outbox: Outbox) -> None:
    """An older copy may hold a rollback as begun that was carried out since; batches came of it meanwhile."""
    if checkpoints.recovery is RecoveryPath.LOCAL:
        return
    begun = (checkpoints.store.get(ROLLBACKS) or Rollbacks()).open
    if begun is not None and begun.generations is not None and outbox.generation >= begun.generations.opened:
        raise _older_generation(begun.generations.left, outbox.generation)


def _pass_over_what_is_gone(store: CheckpointStore, epoch: int, plan: Plan, outbox: Outbox) -> None:
    """Raise older cursors to what the outbox has let go: it lets go only what every sink that it waits for has.

    A sink that may be detached is not waited for. If it lacks such batches its lane stops, and says so.
    """
    cursors, gone = store.get(CURSORS), outbox.trimmed()
    if cursors is None:
        return
    waited_for = {spec.name for spec in plan.sinks if not spec.may_be_detached}
    raised = {lane: max(at, gone) if lane in waited_for else at for lane, at in cursors.delivered.items()}
    if raised != cursors.delivered:
        log.warning("the recovered cursors are older than batch %d, up to which every required sink had all", gone)
        store.put(CURSORS, replace(cursors, delivered=raised), epoch=epoch)


def _check_holds(name: str, inbox: Inbox, reads_from: int, newest: int) -> None:
    """What Spark has yet to read must be there, and what it has read must have been."""
    first = inbox.retained().first_seq
    if newest > inbox.end() or reads_from + 1 < first:
        raise PipelineDiverged(
            f"Spark goes on behind event {reads_from} of source {name!r} and has planned up to {newest}, but its inbox "
            f"holds {first} to {inbox.end()}.",
            kept="Inbox, outbox, cursors and sinks are untouched.",
            remedy="The inbox or Spark's checkpoint is an older copy: put the newer one back, or continue in a new "
            "generation.",
            source=name,
        )


def _with(known: Logs, inboxes: Mapping[str, Inbox], outbox: Outbox) -> Logs:
    return Logs({**known.inboxes, **{name: inbox.uuid for name, inbox in inboxes.items()}}, outbox.uuid)


def _stands(checkpoint: SparkCheckpoint) -> SparkStands | None:
    query_id = checkpoint.query_id()
    if query_id is None:
        return None
    return SparkStands(
        query_id=query_id,
        planned=checkpoint.newest_planned(),
        finished=checkpoint.newest_finished(),
        ends=checkpoint.planned_ends(),
    )


def _published(outbox: Outbox) -> list[OutboxBatch]:
    return [OutboxBatch(batch.batch_id, batch.query_id, batch.ends) for batch in outbox.remembered()]
