"""Carries a rollback out, step by step. Each may be done again: what was cut short is carried out at the next start.

The intent is on record; nothing that is needed again is forgotten; Spark's files are linked; sinks go back; the outbox
opens the new generation; and one write moves the cursors, the generation and the record.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put
from holdfast.checkpoint.cursors import CURSORS
from holdfast.deliver.contract import LaneIdentity
from holdfast.deliver.opening import nothing
from holdfast.disk.files import sync_file
from holdfast.ledger.cursors import Cursors
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.resume import Batch, Resume
from holdfast.log import Inbox, Outbox
from holdfast.model.errors import LogMissing
from holdfast.model.steps import RollbackStep, StepHook, no_hook
from holdfast.runtime.checkpoints.opening import check_same_kind, open_existing, recorded_kind
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import Ownership
from holdfast.runtime.records import GENERATION, LOGS, Generation, Logs
from holdfast.runtime.rollback.linking import link_checkpoint
from holdfast.runtime.rollback.points import made_points, remove_point
from holdfast.runtime.rollback.records import ROLLBACKS, History, Outcome

if TYPE_CHECKING:
    from holdfast.deliver import SinkSpec
    from holdfast.runtime.plan import Plan
    from holdfast.runtime.rollback.records import Generations, Rollback

log = logging.getLogger("holdfast")


@dataclass(frozen=True)
class Owned:
    """The files of a pipeline, in the hands of the process that owns them."""

    plan: Plan
    layout: Layout
    store: CheckpointStore
    epoch: int
    inboxes: Mapping[str, Inbox]
    """By the name of the source."""
    outbox: Outbox
    hook: StepHook


def with_a_past(plan: Plan) -> Layout:
    """Where the files of a pipeline are; `LogMissing` when it never ran."""
    layout = Layout(plan.directory)
    if recorded_kind(layout) is None or not layout.outbox.exists():
        raise LogMissing(f"There is no pipeline in {layout.root}.", remedy="Start it first; then there is a past.")
    return layout


def open_past_store(plan: Plan, layout: Layout) -> CheckpointStore:
    """The local checkpoint store of a pipeline that ran before. A remote copy follows at the next start."""
    check_same_kind(plan, layout)
    return open_existing(plan.checkpoint.store, layout, plan.name)


@contextmanager
def owning(plan: Plan, *, hook: StepHook = no_hook) -> Iterator[Owned]:
    """The files of a pipeline that does not run; `PipelineBusy` when it does."""
    layout = with_a_past(plan)
    with ExitStack() as opened:
        opened.callback(Ownership.take(layout.root).release)
        store = opened.enter_context(open_past_store(plan, layout))
        epoch, known = store.take_over(), store.get(LOGS) or Logs()
        inboxes = {
            name: opened.enter_context(Inbox.open(layout.inbox(name), name=name, epoch=epoch, hook=hook))
            for name in known.inboxes
            if layout.inbox(name).exists()
        }
        outbox = opened.enter_context(Outbox.open(layout.outbox, epoch=epoch, hook=hook))
        yield Owned(plan, layout, store, epoch, inboxes, outbox, hook)


def carry_out_what_was_intended(owned: Owned) -> None:
    """Carry out a rollback that was cut short, if there is one."""
    intended = (owned.store.get(ROLLBACKS) or History()).open
    if intended is not None:
        log.warning("rollback %d to batch %d was cut short: it is carried out", intended.number, intended.to)
        _make_ready(owned, intended)
        _finish(owned, intended)


def carry_out(owned: Owned, rollback: Rollback) -> Rollback:
    """Carry a rollback out. What fails before anything was changed is given up, and raised."""
    owned.hook(RollbackStep.INTEND)
    _record(owned, rollback)
    owned.hook(RollbackStep.INTENDED)
    try:
        _make_ready(owned, rollback)
    except Exception:
        _give_up(owned, rollback)
        raise
    return _finish(owned, rollback)


def _finish(owned: Owned, rollback: Rollback) -> Rollback:
    undone = None if rollback.undoes is None else (owned.store.get(ROLLBACKS) or History()).get(rollback.undoes)
    for spec in owned.plan.sinks:
        _move(owned, spec, rollback, undone)
    cursors = _moved(owned, rollback, undone)
    if rollback.generations is not None:
        owned.hook(RollbackStep.GENERATION)
        owned.outbox.go_back(
            rollback.generations.batch,
            generation=rollback.generations.opened,
            reason=_told(rollback),
            revive_after=None if undone is None else undone.to,
        )
    done = rollback.ended(Outcome.DONE)
    owned.hook(RollbackStep.SWITCH)
    _record(owned, done, Put(CURSORS.name, CURSORS.codec.encode(cursors)), *_generation(rollback))
    owned.hook(RollbackStep.SWITCHED)
    if rollback.generations is not None:
        _sweep(owned.layout, rollback, rollback.generations)
    log.warning("rollback %d by %s: %s", done.number, done.by, _told(done))
    return done


def _make_ready(owned: Owned, rollback: Rollback) -> None:
    """Let nothing be forgotten that is needed again, and link Spark's files: nothing that anybody sees is changed."""
    owned.hook(RollbackStep.HOLD)
    owned.outbox.hold(rollback.to)
    generations = rollback.generations
    if generations is None:
        return
    for inbox in owned.inboxes.values():
        read = generations.batch.ends.get(inbox.uuid, 0)
        if inbox.cursors().get("spark", 0) > read:
            inbox.set_cursor("spark", read)
    owned.hook(RollbackStep.LINK)
    target = owned.layout.spark(generations.opened)
    for path in link_checkpoint(owned.layout.root / generations.place, target, generations.batch.batch_id):
        sync_file(path)
    owned.hook(RollbackStep.LINKED)


def _move(owned: Owned, spec: SinkSpec, rollback: Rollback, undone: Rollback | None) -> None:
    """Let a sink move before our cursor does: one that keeps a cursor would else undo it at the next start."""
    is_meant = spec.name == rollback.sink or (undone is None and spec.name in rollback.removing)
    if not is_meant or spec.name not in rollback.delivered:
        return
    owned.hook(RollbackStep.SINK)
    spec.sink.open(LaneIdentity(owned.plan.name, spec.name, owned.outbox.uuid, owned.epoch, owned.hook))
    try:
        if undone is None:
            spec.sink.go_back(rollback.to)
        elif spec.sink.cursor() is not None:
            spec.sink.deliver(nothing(rollback.to, previous=undone.to))
    finally:
        spec.sink.close()
    owned.hook(RollbackStep.SINK_WENT_BACK)


def _moved(owned: Owned, rollback: Rollback, undone: Rollback | None) -> Cursors:
    """The cursors after the rollback. Going back is the ledger's; forward again is where they were."""
    cursors = owned.store.get(CURSORS) or Cursors({})
    if undone is not None:
        return replace(cursors, delivered=_forward(undone, cursors.delivered), rollbacks=cursors.rollbacks + 1)
    lanes = [spec.lane() for spec in owned.plan.sinks if spec.name in cursors.delivered or spec.name in cursors.gaps]
    known = Resume(
        cursors=cursors,
        batches=[Batch(batch.oseq, batch.positions) for batch in owned.outbox.batches()],
        last_oseq=owned.outbox.last_oseq(),
        trimmed=owned.outbox.trimmed(),
    )
    if rollback.generations is not None and rollback.to < known.trimmed:
        known = replace(known, trimmed=rollback.to)  # what lies between is void from now on, and needed by nobody
    sources = [source.name for source in owned.plan.sources]
    ledger = Ledger(sources=sources, lanes=lanes, policy=owned.plan.policy, known=known)
    if rollback.generations is None:
        assert rollback.sink is not None, "a rollback without a new generation is one of a sink"
        ledger.roll_back_lane(rollback.sink, rollback.to)
    else:
        ledger.roll_back(rollback.to, rollback.generations.batch.positions)
    return ledger.cursors()


def _forward(undone: Rollback, delivered: Mapping[str, int]) -> dict[str, int]:
    """Sinks that removed rows get them from the outbox; the others still have them."""
    return {lane: at if lane in undone.removing else undone.delivered.get(lane, at) for lane, at in delivered.items()}


def _generation(rollback: Rollback) -> Sequence[Put]:
    generations = rollback.generations
    if generations is None:
        return []
    return [Put(GENERATION.name, GENERATION.codec.encode(Generation(generations.opened, generations.initial)))]


def _record(owned: Owned, rollback: Rollback, *others: Put) -> None:
    history = (owned.store.get(ROLLBACKS) or History()).with_(rollback)
    owned.store.commit(Commit(owned.epoch, [Put(ROLLBACKS.name, ROLLBACKS.codec.encode(history)), *others]))


def _give_up(owned: Owned, rollback: Rollback) -> None:
    if rollback.generations is not None:
        shutil.rmtree(owned.layout.spark(rollback.generations.opened), ignore_errors=True)
    _record(owned, rollback.ended(Outcome.GIVEN_UP))


def _sweep(layout: Layout, rollback: Rollback, generations: Generations) -> None:
    """Remove what nobody can go back to any more: void points, and generations before the one that was left."""
    for point in made_points(layout):
        if point.oseq > rollback.to:
            remove_point(layout, point.oseq)
    kept = {str(generations.left), str(generations.opened)}
    for path in (layout.root / "spark").iterdir():
        if path.name not in kept:
            with suppress(OSError):
                shutil.rmtree(path)


def _told(rollback: Rollback) -> str:
    what = "the pipeline" if rollback.sink is None else f"sink {rollback.sink}"
    undoing = "" if rollback.undoes is None else f", which takes back rollback {rollback.undoes}"
    return f"{what} to batch {rollback.to}{undoing}"
