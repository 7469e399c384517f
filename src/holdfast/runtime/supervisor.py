"""Runs the query of a pipeline, and runs it again when it fails, as often as the restart budget allows.

What trying again cannot mend ends the pipeline, and so does one failure too many. A full disk, or too many dead
letters, are waited for, and count for nothing. A JVM or a worker that was killed is started again as often as it takes:
capture and lanes go on meanwhile, and the status says so. What a batch becomes is the publisher's business, and how far
the query may read the keeper's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from holdfast.flow.exits import Exit
from holdfast.log.datasource import Reading
from holdfast.log.values import Limits
from holdfast.model.errors import (
    CommitStateUnknown,
    DeadLettersFull,
    HoldfastError,
    LogFull,
    LogReadOnly,
    RestartsExhausted,
    SparkDied,
    SparkUnavailable,
    StepRefused,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from holdfast.process.steps import fingerprint
from holdfast.runtime.causes import is_for_want_of_disk, reason_of
from holdfast.runtime.gateway import helper_processes
from holdfast.runtime.isolator import Isolator
from holdfast.runtime.lifecycle import State, state_after
from holdfast.runtime.processor import Processor, Work
from holdfast.runtime.publisher import Publisher, Replay, Replayed
from holdfast.runtime.records import HISTORY
from holdfast.runtime.restarts import Failures, History, pause_before
from holdfast.runtime.timing import Timing
from holdfast.runtime.undertaker import Undertaker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.log.values import Published
    from holdfast.runtime.ground import Ground
    from holdfast.runtime.isolation import Isolating
    from holdfast.runtime.plan import Plan

log = logging.getLogger("holdfast")

_TICK = 0.05
_TICKS_A_NOTE = 20
_REPLAYS_TOLD = 100
_LOSSES_TOLD = 100
_A_WHILE = 60.0
"""Seconds after which a query that fails has not failed in a row."""
_LONGEST_PAUSE = 5.0
_LONGEST_PAUSE_AFTER_A_LOSS = 60.0
"""Seconds between two starts of a JVM that does not stay up: to start it costs the processor that lanes need."""
_WAITS_FOR_ROOM = (LogFull, LogReadOnly, StoreFull, StoreReadOnly, DeadLettersFull)
"""What is no fault of a query, and passes when the disk, or the dead letters, have room again."""


class Supervisor:
    """The query of one run, in a thread of its own.

    :param processor: makes what runs the query, anew for every start. That may take long, as a JVM does to come up, and
        touches nothing of the pipeline.
    :param published: told of every batch that is published.
    :param failed: told what ends the pipeline.
    """

    def __init__(
        self,
        plan: Plan,
        ground: Ground,
        processor: Callable[[], Processor],
        *,
        published: Callable[[Published], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._plan = plan
        self._ground = ground
        self._undertaker = Undertaker(plan.name, ground)
        self._isolator = Isolator(ground, self._undertaker, plan.isolation, is_stopping=lambda: self._stopping.is_set())
        self._new_processor = processor
        self._published = published
        self._failed = failed
        self._stopping = threading.Event()
        self._gate = threading.Lock()
        self._is_coming_up = False
        """While a processor is being made; changed behind the gate."""
        self._processor: Processor | None = None
        self._replays: list[Replay] = []
        self.restarts = 0
        """How often the query was started again."""
        self.last_failure: str | None = None
        """Why the query was last started again."""
        self._losses: list[datetime] = []
        """When processes of Spark were lost."""
        self._failures = Failures(plan.restarts)
        """Those that count against the restart budget."""
        self._in_a_row = 0
        """Failures since the query last ran for a while."""
        self.starts = Counter[str]()
        """How often the query was started at all, by where it began."""
        self.timing = Timing()
        """What the batches took that have ended."""
        self._thread = threading.Thread(target=self._run, name=f"process-{plan.name}", daemon=True)

    def start(self) -> None:
        """Start the query in the background."""
        self._thread.start()

    @property
    def is_active(self) -> bool:
        """Whether the query runs."""
        return self._processor is not None and self._processor.is_active()

    @property
    def isolating(self) -> Isolating | None:
        """The search for rows that make a batch fail, while there is one."""
        return self._isolator.isolating

    @property
    def replays(self) -> Sequence[Replay]:
        """The batches that came again, newest last."""
        return tuple(self._replays)

    def finish_what_is_planned(self, until: float) -> None:
        """Wait until what was planned is finished. Admission is closed, so nothing more is planned."""
        checkpoint = self._ground.checkpoint
        while time.monotonic() < until and self._processor is not None and self._processor.is_active():
            if checkpoint.newest_planned() == checkpoint.newest_finished() and self._processor.is_idle():
                return
            time.sleep(_TICK / 5)

    def ask_to_stop(self) -> None:
        """Let the query end after the batch that runs, and start it no more."""
        self._stopping.set()

    def stop(self) -> None:
        """Ask to stop, and wait for it. A processor that is still coming up is left behind: it will run nothing."""
        self.ask_to_stop()
        with self._gate:
            is_left_behind = self._is_coming_up
        if not is_left_behind:
            self._thread.join()

    # The thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            failure = self._run_query()
            if self._stopping.is_set() or failure is None or not self._may_restart(failure):
                return
            self._in_a_row = 1 if time.monotonic() - began > _A_WHILE else self._in_a_row + 1
            longest = _LONGEST_PAUSE_AFTER_A_LOSS if self._is_a_loss(failure) else _LONGEST_PAUSE
            pause = pause_before(self._in_a_row, longest=longest)
            log.warning("the query ended, it is started again in %.1f s: %s", pause, reason_of(failure))
            self._stopping.wait(pause)

    def _run_query(self) -> BaseException | None:
        """Run the query until it ends; returns why, or None when it was stopped."""
        self._processor = None
        try:
            processor = self._brought_up()
            if processor is None:
                return None
            begins = "fresh" if self._ground.checkpoint.newest_finished() is None else "local"
            processor.start(self._work(), self._new_publisher)
            self.starts[begins] += 1
            self._processor = processor
            self._watch(processor)
            if self._stopping.is_set():
                processor.stop()
                return None
            return processor.failure() or SparkDied(
                "Spark ended the query and gave no error: the query, or Spark's context, was stopped from outside.",
                kept="Capture and delivery go on without it; nothing is lost.",
                remedy=f"It is started again by itself. What Spark printed is in {self._ground.layout.spark_log}.",
            )
        except Exception as error:
            return error

    def _watch(self, processor: Processor) -> None:
        """Until the query has ended, or is to end; what its batches took is noted meanwhile."""
        ticks = 0
        while processor.is_active() and not self._stopping.wait(_TICK):
            ticks += 1
            if ticks % _TICKS_A_NOTE == 0:
                self._note_times(processor)
        self._note_times(processor)

    def _note_times(self, processor: Processor) -> None:
        for batch in processor.took():
            self.timing = self.timing.after(batch)

    def _brought_up(self) -> Processor | None:
        """What runs the query; None when nobody waits for it any more."""
        with self._gate:
            if self._stopping.is_set():
                return None
            self._is_coming_up = True
        try:
            processor = self._new_processor()
        finally:
            with self._gate:
                self._is_coming_up = False
        if not self._stopping.is_set():
            self._ground.ownership.record_helpers(helper_processes())
        return None if self._stopping.is_set() else processor

    def _work(self) -> Work:
        ground, batch = self._ground, self._plan.batch
        continuation = ground.continuation()
        return Work(
            pipeline=self._plan.name,
            reading=Reading(
                inboxes={inbox.uuid: str(ground.layout.inbox(name)) for name, inbox in ground.inboxes.items()},
                limits=Limits(batch.max_events, batch.max_bytes, batch.respect_source_tx),
                start=continuation.start,
                initial=ground.checkpoint.initial,
                recorded=continuation.recorded,
                max_wait=batch.max_wait.total_seconds(),
                max_partitions=batch.max_partitions,
                partition_bytes=batch.partition_bytes,
            ),
            checkpoint=ground.checkpoint.directory,
            parts=ground.outbox.parts_directory,
            epoch=ground.epoch,
            generation=ground.outbox.generation,
        )

    def _new_publisher(self, query_id: str, stateful: bool) -> Publisher:
        return Publisher(
            self._ground.outbox,
            self._ground.checkpoint,
            query_id=query_id,
            fingerprint=fingerprint(self._plan.steps),
            stateful=stateful,
            positions=self._ground.positions,
            bury=self._undertaker.bury,
            published=self._published,
            replayed=self._note_replay,
        )

    def _note_replay(self, replay: Replay) -> None:
        self._replays = [*self._replays, replay][-_REPLAYS_TOLD:]
        level = logging.INFO if replay.verdict is Replayed.EQUAL else logging.WARNING
        log.log(level, "batch %s came again: %s", replay.batch.batch_id, replay.verdict.value)

    # After a failure

    def _may_restart(self, failure: BaseException) -> bool:
        if state_after(failure) is not State.FAILED or self._is_final(failure):
            self._failed(failure)
            return False
        try:
            if self._is_a_loss(failure):
                self._note_loss(failure)
            elif not self._waits_for_room(failure) and not self._was_isolated(failure):
                self._count(failure)
        except (*_WAITS_FOR_ROOM, StoreUnavailable, CommitStateUnknown) as error:
            log.warning("the end of the query cannot be written down: %s", error)
        except Exception as error:
            self._failed(error)
            return False
        self.restarts += 1
        self.last_failure = reason_of(failure)
        return True

    def _is_final(self, failure: BaseException) -> bool:
        """Whether Spark refuses the steps. Those that it took before may lack a table that is away for a while."""
        return isinstance(failure, StepRefused) and not self.starts

    def _is_a_loss(self, failure: BaseException) -> bool:
        """Whether processes of Spark were lost, or do not come up again after they were up once."""
        return isinstance(failure, SparkDied) or (isinstance(failure, SparkUnavailable) and bool(self.starts))

    @staticmethod
    def _waits_for_room(failure: BaseException) -> bool:
        return isinstance(failure, _WAITS_FOR_ROOM) or is_for_want_of_disk(failure)

    def _was_isolated(self, failure: BaseException) -> bool:
        """Whether rows were to blame, and are given up: then the failure counts for nothing."""
        return self._processor is not None and self._isolator.isolate(failure, self._processor, self._work())

    def losses_within(self, stretch: timedelta) -> int:
        """How often Spark's JVM or a worker was lost lately."""
        return sum(datetime.now(UTC) - at <= stretch for at in self._losses)

    def _note_loss(self, failure: BaseException) -> None:
        """Write down that a process of Spark was killed: that is no failure of the pipeline."""
        now = datetime.now(UTC)
        self._losses = [*self._losses, now][-_LOSSES_TOLD:]
        self._write(self._history().ended(Exit.ABORTED, reason_of(failure)).begun(now))

    def _count(self, failure: BaseException) -> None:
        """Write a failure of the query down; `RestartsExhausted` when it was one too many."""
        exit_, reason = Exit.ERRORED if isinstance(failure, HoldfastError) else Exit.CRASHED, reason_of(failure)
        self._failures = self._failures.after(time.monotonic())
        history = self._history().ended(exit_, reason)
        try:
            self._failures.check(reason)
        except RestartsExhausted:
            self._write(history)
            raise
        self._write(history.begun(datetime.now(UTC)))

    def _history(self) -> History:
        return self._ground.store.get(HISTORY) or History()

    def _write(self, history: History) -> None:
        self._ground.store.put(HISTORY, history, epoch=self._ground.epoch)
