"""Carries the batches of an outbox to sinks: one lane each, exactly once where the sink can, through crashes.

The shell around the ledger. It opens sinks, starts threads and hands out work; what is decided, the ledger decides, and
what is made durable, the conductor does. It publishes no batches and knows nothing of Spark.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Self

from holdfast.deliver.clock import Clock, SystemClock
from holdfast.deliver.conductor import Conductor
from holdfast.deliver.contract import LaneIdentity
from holdfast.deliver.core import Core, DeliveryPhase
from holdfast.deliver.crew import Crew
from holdfast.deliver.deadletters import LaneDeadLetters
from holdfast.deliver.keeping import CursorKeeper
from holdfast.deliver.lane import DeliveryLane
from holdfast.deliver.membership import Membership
from holdfast.deliver.opening import read_what_is_known, told_what_is_missing
from holdfast.deliver.operations import Operations
from holdfast.deliver.reading import Reader
from holdfast.deliver.roster import Roster
from holdfast.deliver.spec import DeliverySettings, SinkSpec
from holdfast.deliver.status import DeliveryStatus, picture
from holdfast.ledger.ledger import Phase
from holdfast.ledger.policy import Policy, Required
from holdfast.model.errors import LifecycleRefused, NotRetained
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.deliver.ports import DeadLetters, Outbox, PublishedBatch
    from holdfast.deliver.taps import Taps
    from holdfast.ledger.cursors import StopRecord
    from holdfast.ledger.ledger import Ledger
    from holdfast.model.positions import Position

logger = logging.getLogger(__name__)


class Delivery:
    """The lanes of one pipeline.

    :param outbox: what is delivered; `published` tells of every batch that is added to it.
    :param dead_letters: where rows go that a sink will never take.
    :param store: where the cursors are kept, written under `epoch`.
    :param committed: told the positions up to which everything is committed, once that is on disk; returns at once.
    :param captured_at: says when the last event of a batch was captured, if that is known.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        outbox: Outbox,
        dead_letters: DeadLetters,
        store: CheckpointStore,
        epoch: int,
        sources: Iterable[str],
        sinks: Sequence[SinkSpec],
        policy: Policy | None = None,
        committed: Callable[[Mapping[str, Position]], None],
        captured_at: Callable[[int], datetime | None] = lambda _: None,
        hook: StepHook = no_hook,
        clock: Clock | None = None,
        random: Random | None = None,
        settings: DeliverySettings | None = None,
    ) -> None:
        self._settings = settings or DeliverySettings()
        self._outbox = outbox
        self._store = store
        self._sources = frozenset(sources)
        self._sinks = tuple(sinks)
        self._captured_at = captured_at
        self._policy = policy or Required()
        random = random or Random()
        self._core = core = Core(clock or SystemClock())
        self._crew = Crew(core)
        self._reader = Reader(outbox, hook=hook, capacity=self._settings.batches_in_memory)
        self._operations = Operations(core)
        self._conductor = Conductor(
            core,
            keeper=CursorKeeper(core, store, epoch=epoch, keep_versions=self._settings.keep_versions, hook=hook),
            committed=committed,
            operations=self._operations,
            outbox=outbox,
            random=random,
            cadence=self._settings.cadence,
        )

        def new_lane(spec: SinkSpec) -> DeliveryLane:
            identity = LaneIdentity(pipeline, spec.name, outbox.uuid, epoch, hook)
            dead = LaneDeadLetters(dead_letters, pipeline=pipeline, lane=spec.name, clock=core.clock)
            return DeliveryLane(spec, identity, core, dead, random)

        self._roster = Roster(
            core, self._crew, self._reader, new_lane=new_lane, patience=self._settings.opening_patience
        )
        self._membership = Membership(
            core, self._crew, self._roster, self._operations, patience=self._settings.stop_patience
        )

    # Running

    def start(self) -> None:
        """Open the sinks, decide where each lane begins, write that down, and begin to deliver."""
        core = self._core
        if core.phase is not DeliveryPhase.OPENING:
            raise LifecycleRefused("A delivery is started once.", remedy="Make a new one.")
        try:
            self._open()
        except BaseException as error:
            core.crash(error)
            self._end_threads()
            raise
        self._crew.start("conductor", self._conductor.run)
        self._crew.start("reader", self._reader.run)
        with core.changing():
            if core.phase is DeliveryPhase.OPENING:
                core.phase = DeliveryPhase.RUNNING
            for lane in core.lanes.values():
                lane.fail_pipeline_if_required()

    def published(self, batch: PublishedBatch) -> None:
        """A batch was added to the outbox. Telling it twice is fine, and so is telling of two in the wrong order."""
        core = self._core
        with core.lock:
            core.wait_while_well(core.may_create)
            for new in self._unknown_up_to(batch):
                core.ledger.create(new.oseq, new.positions)
                core.note(new, self._captured_at(new.oseq))
                core.ring()

    def status(self) -> DeliveryStatus:
        """What every lane is doing, and numbers that add up."""
        return picture(self._core)

    def taps(self) -> Mapping[str, Taps]:
        """By the name of its sink, where the rows that a lane brings can be looked at."""
        with self._core.lock:
            return {name: lane.taps for name, lane in self._core.lanes.items()}

    def failure(self) -> BaseException | None:
        """Why delivery failed, was fenced or crashed; None while it is well."""
        with self._core.lock:
            return self._core.failure

    def is_caught_up(self) -> bool:
        """Whether every sink that can go on has everything that was published, and that is on disk."""
        with self._core.lock:
            lanes = self._core.ledger.lanes
            going = [lanes[name] for name, lane in self._core.lanes.items() if lane.failure is None]
            return self._core.is_durable() and not any(lane.queued or lane.unresolved for lane in going)

    def wait_until(self, holds: Callable[[DeliveryStatus], bool], seconds: float) -> bool:
        """Wait until something holds of the status; False when it does not by then."""
        return self._core.wait_for(lambda: holds(self.status()), seconds)

    # Sinks and policy, while running

    def add_sink(self, spec: SinkSpec) -> None:
        """Deliver to one more sink from now on. It is added when its cursor is on disk."""
        try:
            self._membership.add(spec)
        except NotRetained as refusal:
            raise told_what_is_missing(refusal, self._outbox) from None

    def remove_sink(self, name: str) -> StopRecord:
        """Deliver no more to a sink, and hold nothing back for it. Returns what it leaves undone."""
        return self._membership.remove(name)

    def holding_back(self) -> Sequence[str]:
        """The sinks that may be detached and without which the outbox could forget more, the slowest first."""
        return self._membership.holding_back()

    def detach(self, name: str) -> None:
        """Leave out a sink that holds the outbox back, until it is attached. It is done soon, if it is still so."""
        self._membership.detach(name)

    def attach(self, name: str) -> None:
        """Deliver again to a sink that was detached, from where the outbox still is. What it missed stays on record."""
        self._membership.attach(name)

    def change_policy(self, policy: Policy) -> None:
        """Let another policy decide what is committed."""
        self._operations.when_durable(lambda ledger: ledger.change_policy(policy))

    # Stopping

    def drain(self, deadline: float, *, unprocessed: Mapping[str, int] | None = None) -> StopRecord:
        """Send nothing new, wait for what was sent, and stop; by force when the deadline passes.

        :param deadline: seconds from now in which batches that were sent may still be retried.
        :param unprocessed: captured events that no batch holds yet, by source: the stop record says so.
        """
        core = self._core
        with core.changing():
            if core.phase is DeliveryPhase.RUNNING:
                core.ledger.drain()
                core.phase = DeliveryPhase.DRAINING
        core.wait_for(lambda: core.phase is not DeliveryPhase.DRAINING or not self._has_hope_of_answers(), deadline)
        return self.stop(unprocessed=unprocessed)

    def stop(self, *, unprocessed: Mapping[str, int] | None = None) -> StopRecord:
        """Stop now. What was sent and not answered is listed as abandoned, and sent again after the next start.

        A delivery that was fenced says how it ended, and writes it nowhere.

        :param unprocessed: as for `drain`.
        """
        with self._core.lock:
            record = self._core.ledger.stop_record or self._stop_ledger(self._core.ledger, unprocessed or {})
        self._end_threads()
        return record

    def abandon(self) -> None:
        """End all threads and write nothing more, not even how it ended: what a crash would leave behind."""
        self._core.abandon()
        self._end_threads()

    def close(self) -> None:
        """Stop if that was not done yet, and see that all threads have ended. Closing twice is fine."""
        if self._core.has_ledger:
            self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Internals

    def _open(self) -> None:
        """Everything up to the first cursors on disk."""
        batches = self._outbox.batches()
        known = read_what_is_known(self._store, self._outbox, batches)
        lanes = self._roster.open(self._roster.attached(self._sinks, known.cursors))
        for batch in batches:
            self._core.note(batch, self._captured_at(batch.oseq))
        try:
            self._roster.begin(lanes, known, self._sources, self._policy)
        except NotRetained as refusal:
            raise told_what_is_missing(refusal, self._outbox) from None
        self._conductor.execute_first()

    def _unknown_up_to(self, batch: PublishedBatch) -> Sequence[PublishedBatch]:
        """The batches that the ledger was not told of; more than one when rows are redelivered beside Spark."""
        last = self._core.ledger.batches.last_oseq
        if batch.oseq <= last:
            return []
        return [batch] if batch.oseq == last + 1 else self._outbox.batches(after=last)

    def _has_hope_of_answers(self) -> bool:
        """Whether a lane that can go on has batches that were sent and are not resolved."""
        lanes = self._core.ledger.lanes
        return any(lanes[name].unresolved for name, lane in self._core.lanes.items() if lane.failure is None)

    def _stop_ledger(self, ledger: Ledger, unprocessed: Mapping[str, int]) -> StopRecord:
        is_resolved = not any(lane.unresolved for lane in ledger.lanes.values())
        record = ledger.stop() if ledger.phase is Phase.DRAINING and is_resolved else ledger.force_stop()
        ledger.stop_record = record = replace(record, unprocessed=dict(unprocessed))
        for name, batches in record.abandoned.items():
            self._core.lanes[name].abandoned = len(batches)
        self._core.end()
        return record

    def _end_threads(self) -> None:
        """Let the last writes be done and all threads end. One that hangs in a sink is left behind, and told."""
        self._reader.close()
        self._conductor.give_up_after(self._settings.stop_patience)
        if not self._crew.wait_until_ended(self._settings.stop_patience):
            logger.warning("threads are still busy in a sink: %s", ", ".join(self._crew.running()))
