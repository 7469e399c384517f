"""A pipeline at work: capture, Spark and delivery as threads around what is on disk, and the one who watches them.

Capture and lanes are up before the JVM is: at a restart they work again while Spark is still starting. Everything that
is decided here is small; what is committed, published or retried is decided elsewhere.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from holdfast.capture.runner import Capture
from holdfast.deliver import Delivery
from holdfast.log.datasource import Reading
from holdfast.log.values import Limits
from holdfast.model.errors import HoldfastError, LogFull, LogReadOnly, PipelineFailed, StoreFull, StoreReadOnly
from holdfast.model.positions import earliest
from holdfast.model.steps import StepHook, no_hook
from holdfast.process.steps import fingerprint
from holdfast.runtime.ground import Accept, Ground
from holdfast.runtime.lifecycle import Life, State, state_after
from holdfast.runtime.owner import Takeover
from holdfast.runtime.processor import Processor, Work
from holdfast.runtime.publisher import Publisher, Replay, Replayed
from holdfast.runtime.records import HISTORY
from holdfast.runtime.restarts import Exit, History
from holdfast.runtime.status import PipelineStatus, SparkStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.ledger import StopRecord
    from holdfast.log import Inbox
    from holdfast.log.values import Published
    from holdfast.model.positions import Position
    from holdfast.runtime.plan import Plan

log = logging.getLogger("holdfast")

_TICK = 0.05
_BATCHES_SPARK_MAY_REPLAY = 2
_BATCHES_KEPT_FOR_COPIES = 100
"""As many as Spark keeps in its own books, so that an older copy of its checkpoint can be continued."""

_WAITS_FOR_THE_DISK = (LogFull, LogReadOnly, StoreFull, StoreReadOnly)
"""What is no fault of a query, and passes when the disk has room again."""


class Engine:
    """One run of a pipeline in this process."""

    def __init__(
        self,
        plan: Plan,
        processor: Callable[[], Processor],
        *,
        takeover: Takeover = Takeover.REFUSE,
        accept: Accept = Accept.NOTHING,
        hook: StepHook = no_hook,
    ) -> None:
        self.plan = plan
        self._new_processor = processor
        self._takeover = takeover
        self._accept = accept
        self._hook = hook
        self._lock = threading.RLock()
        self._life = Life()
        self._changed = threading.Condition(self._lock)
        self._stopping = threading.Event()
        self._admission = threading.Lock()
        self._admits: bool | None = None
        self._processor: Processor | None = None
        self._synced: Published | None = None
        self._replays: list[Replay] = []
        self._restarts = 0
        self._pending_ack: dict[str, Position] = {}
        self._told: dict[str, Position] = {}
        self._is_open = False
        self._newest: Published | None = None
        self.stop_record: StopRecord | None = None

    # Starting

    def start(self) -> None:
        """Open what is on disk, start capture and lanes, and then Spark in the background."""
        self.ground = Ground.open(self.plan, takeover=self._takeover, accept=self._accept, hook=self._hook)
        self.delivery = self._new_delivery()
        try:
            self.delivery.start()
        except BaseException as error:
            self.ground.note_end(Exit.ERRORED, str(error)[:500])
            self.ground.close()
            raise
        self.captures = [
            Capture(source, self.ground.inboxes[source.name], failed=self._end_by) for source in self.plan.sources
        ]
        for capture in self.captures:
            capture.start()
        self._is_open = True
        self._become(State.RUNNING)
        self._threads = [
            threading.Thread(target=self._process, name=f"process-{self.plan.name}", daemon=True),
            threading.Thread(target=self._keep, name=f"keeper-{self.plan.name}", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _new_delivery(self) -> Delivery:
        return Delivery(
            pipeline=self.plan.name,
            outbox=self.ground.outbox,
            dead_letters=self.ground.dead_letters,
            store=self.ground.store,
            epoch=self.ground.epoch,
            sources=[source.name for source in self.plan.sources],
            sinks=self.plan.sinks,
            policy=self.plan.policy,
            acknowledge=self._acknowledge,
            hook=self._hook,
        )

    # Control

    @property
    def state(self) -> State:
        """What the pipeline is doing."""
        return self._life.state

    def pause(self) -> None:
        """Admit nothing new to Spark; lanes finish what is in the outbox."""
        self._become(State.PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        self._become(State.RUNNING)

    def drain(self, deadline: float) -> StopRecord:
        """Stop in order: capture, Spark's running batch, lanes until the deadline in seconds, cursors, ownership."""
        self._become(State.DRAINING)
        until = time.monotonic() + deadline
        for capture in self.captures:
            capture.stop()
        self._finish_running_batch(until)
        self._end_threads()
        self.stop_record = self.delivery.drain(max(0.0, until - time.monotonic()))
        self._end("")
        return self.stop_record

    def stop(self) -> None:
        """End now, without draining. What was captured is in the inbox, what was published in the outbox."""
        if not self._is_open:
            return
        for capture in self.captures:
            capture.stop()
        self._end_threads()
        self.stop_record = self.delivery.stop()
        self._end("stopped without draining")

    def wait(self, *, caught_up: bool, timeout: float | None = None) -> bool:
        """Wait until the pipeline is over, or has delivered everything its sources will ever have."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while not self._life.state.is_over and not (caught_up and self.is_caught_up()):
                if until is not None and time.monotonic() >= until:
                    return False
                self._changed.wait(_TICK)
        return True

    def is_caught_up(self) -> bool:
        """Whether every source has ended and every sink has everything that came of it."""
        if not all(capture.finished for capture in self.captures):
            return False
        newest = self.ground.outbox.newest()
        ends = newest.ends if newest else {}
        if any(inbox.end() > ends.get(inbox.uuid, 0) for inbox in self.ground.inboxes.values()):
            return False
        return self.delivery.is_caught_up()

    def status(self) -> PipelineStatus:
        """Where everything stands."""
        with self._lock:
            newest = self.ground.outbox.newest() if self._is_open else self._newest
        return PipelineStatus(
            name=self.plan.name,
            state=self._life.state,
            error=None if self._life.error is None else str(self._life.error),
            captures=[capture.status() for capture in self.captures],
            spark=SparkStatus(
                active=self._processor is not None and self._processor.is_active(),
                batch_id=newest.batch_id if newest else None,
                restarts=self._restarts,
                replays=self.replays,
            ),
            delivery=self.delivery.status(),
        )

    @property
    def is_open(self) -> bool:
        """Whether the pipeline's files are still held by this run."""
        return self._is_open

    @property
    def replays(self) -> Sequence[Replay]:
        """The batches that Spark ran again, newest last."""
        return tuple(self._replays)

    @property
    def error(self) -> BaseException | None:
        """What ended the run, if something did."""
        return self._life.error

    # Spark, and who supervises it

    def _process(self) -> None:
        pause = 0.1
        while not self._stopping.is_set():
            failure = self._run_query()
            if self._stopping.is_set() or failure is None:
                return
            if not self._may_restart(failure):
                return
            self._stopping.wait(pause)
            pause = min(pause * 2, 5.0)

    def _run_query(self) -> BaseException | None:
        """Run the query until it ends; returns why, or None when it was stopped."""
        try:
            processor = self._processor = self._new_processor()
            processor.start(self._work(), self._new_publisher)
            while processor.is_active() and not self._stopping.wait(_TICK):
                pass
            if self._stopping.is_set():
                processor.stop()
                return None
            return processor.failure() or PipelineFailed(
                "Spark's query ended without a reason.", remedy="See the log of Spark's driver."
            )
        except Exception as error:
            return error

    def _work(self) -> Work:
        ground, batch = self.ground, self.plan.batch
        continuation = ground.continuation()
        return Work(
            pipeline=self.plan.name,
            reading=Reading(
                inboxes={inbox.uuid: str(ground.layout.inbox(name)) for name, inbox in ground.inboxes.items()},
                limits=Limits(batch.max_events, batch.max_bytes, batch.respect_source_tx),
                start=continuation.start,
                initial=ground.checkpoint.initial,
                recorded=continuation.recorded,
                max_wait=batch.max_wait.total_seconds(),
                max_partitions=batch.max_partitions,
            ),
            checkpoint=ground.checkpoint.directory,
            parts=ground.outbox.parts_directory,
            epoch=ground.epoch,
            generation=ground.outbox.generation,
        )

    def _new_publisher(self, query_id: str, stateful: bool) -> Publisher:
        return Publisher(
            self.ground.outbox,
            self.ground.checkpoint,
            query_id=query_id,
            fingerprint=fingerprint(self.plan.steps),
            stateful=stateful,
            positions=self.ground.positions,
            published=self._note_published,
            replayed=self._note_replay,
        )

    def _note_published(self, batch: Published) -> None:
        """A full outbox admits nothing from the very next batch on; if that cannot be written, the keeper does it."""
        self.delivery.published(batch)
        with suppress(HoldfastError):
            self._set_admission()

    def _note_replay(self, replay: Replay) -> None:
        self._replays = [*self._replays[-99:], replay]
        level = logging.INFO if replay.verdict is Replayed.EQUAL else logging.WARNING
        log.log(level, "batch %s came again: %s", replay.batch.batch_id, replay.verdict.value)

    def _may_restart(self, failure: BaseException) -> bool:
        if state_after(failure) is not State.FAILED:
            self._end_by(failure)
            return False
        try:
            if not isinstance(failure, _WAITS_FOR_THE_DISK):
                self._count(failure)
        except _WAITS_FOR_THE_DISK as error:
            log.warning("the end of the query cannot be written down: %s", error)
        except HoldfastError as error:
            self._end_by(error)
            return False
        self._restarts += 1
        log.warning("the query ended (%s: %s), it is started again", type(failure).__name__, failure)
        return True

    def _count(self, failure: BaseException) -> None:
        """Write a failure of the query down; `RestartsExhausted` when it was one too many."""
        now = datetime.now(UTC)
        exit_ = Exit.ERRORED if isinstance(failure, HoldfastError) else Exit.CRASHED
        history = (self.ground.store.get(HISTORY) or History()).failed(now, exit_, str(failure)[:500])
        self.ground.store.put(HISTORY, history, epoch=self.ground.epoch)
        history.check(self.plan.restarts, now)

    # The keeper: what follows from how far Spark and the lanes are

    def _keep(self) -> None:
        while not self._stopping.wait(_TICK):
            if self._life.state.is_over:
                self._come_to_rest()
                return
            try:
                self._sync_spark()
                self._set_admission()
                self._tell_sources()
                failure = self.delivery.failure()
                if failure is not None:
                    self._end_by(failure)
            except HoldfastError as error:
                if state_after(error) is not State.FAILED:
                    self._end_by(error)
                else:
                    log.warning("keeping house failed, it is tried again: %s", error)
            except Exception as error:  # a sync that failed once must not be trusted when it succeeds later
                self._end_by(error)

    def _sync_spark(self) -> None:
        """Make Spark's newest finished batch survive a loss of power, then let the inboxes forget what it read."""
        finished = self.ground.checkpoint.newest_finished()
        if finished is not None and (self._synced is None or finished > self._synced.batch_id):
            batch = self.ground.outbox.find(finished)
            if batch is not None:
                self.ground.checkpoint.sync_finished(finished)
                self._synced = batch
        if self._synced is not None:
            for inbox in self.ground.inboxes.values():
                self._forget_what_was_read(inbox, self._synced)

    def _forget_what_was_read(self, inbox: Inbox, newest: Published) -> None:
        retained = inbox.retained()
        through = self._done_through(inbox.uuid, newest, retained.nbytes)
        if through > retained.held_by.get("spark", 0):
            inbox.set_cursor("spark", through)
        if through >= retained.first_seq:
            inbox.trim()

    def _done_through(self, inbox: str, newest: Published, used: int) -> int:
        """How far an inbox is not needed any more. What is kept for older copies gives way to a capture that waits."""
        quota = self.plan.quotas.inbox
        if quota is not None and used >= quota:
            return newest.ends.get(inbox, 0)
        is_roomy = quota is None or used < quota // 2
        kept = _BATCHES_KEPT_FOR_COPIES if is_roomy else _BATCHES_SPARK_MAY_REPLAY
        oldest = self.ground.outbox.find(max(0, newest.batch_id - kept)) or newest
        return oldest.starts.get(inbox, 0)

    def _set_admission(self) -> None:
        """Let Spark take in more, or not. It asks in a process of its own, so this goes through the inboxes."""
        with self._admission:
            is_open = self._life.state is State.RUNNING and self.ground.outbox.has_room()
            if is_open is self._admits:
                return
            for inbox in self.ground.inboxes.values():
                (inbox.resume_admission if is_open else inbox.pause_admission)()
            self._admits = is_open

    def _acknowledge(self, positions: Mapping[str, Position]) -> None:
        with self._lock:
            self._pending_ack.update(positions)

    def _tell_sources(self) -> None:
        """Tell each source how far it may forget: committed by the policy, and synced by Spark."""
        with self._lock:
            pending, synced = dict(self._pending_ack), self._synced
        if synced is None:
            return
        for capture in self.captures:
            name = capture.source.name
            if name in pending and name in synced.positions:
                safe = earliest([pending[name], synced.positions[name]])
                if safe != self._told.get(name):
                    capture.source.acknowledge(safe)
                    self._told[name] = safe

    # Ending

    def _finish_running_batch(self, until: float) -> None:
        """Wait until Spark has finished what it planned; admission is closed, so it plans nothing more."""
        try:
            self._set_admission()
        except HoldfastError as error:
            log.warning("admission cannot be closed, so Spark is stopped after the batch that runs: %s", error)
            return
        checkpoint = self.ground.checkpoint
        while time.monotonic() < until and self._processor is not None and self._processor.is_active():
            if checkpoint.newest_planned() == checkpoint.newest_finished() and self._processor.is_idle():
                return
            time.sleep(_TICK / 5)

    def _come_to_rest(self) -> None:
        """The run is over: nothing is read and nothing is published any more. Lanes rest when it is stopped."""
        self._stopping.set()
        for capture in self.captures:
            capture.stop()

    def _end_threads(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _end(self, manner: str) -> None:
        """Write down how the run ended, as far as the disk lets us, and give everything up."""
        failure = self.delivery.failure()
        if failure is not None and not self._life.state.is_over:
            self._end_by(failure)
        try:
            if self._life.error is None:
                self._sync_spark()
                self.ground.note_end(Exit.OK, manner)
            elif self._life.state is not State.FENCED:
                self.ground.note_end(Exit.ERRORED, str(self._life.error)[:500])
        except (HoldfastError, OSError) as trouble:
            log.warning("how the run ended cannot be written down: %s", trouble)
        finally:
            self._close()
        if not self._life.state.is_over:
            self._become(State.STOPPED)

    def _close(self) -> None:
        with self._lock:
            if self._is_open:
                with suppress(HoldfastError):
                    self._newest = self.ground.outbox.newest()
            self._is_open = False
        self.ground.close()

    def _become(self, state: State) -> None:
        with self._changed:
            self._life = self._life.to(state)
            self._changed.notify_all()

    def _end_by(self, error: BaseException) -> None:
        with self._changed:
            self._life = self._life.ended_by(error)
            self._changed.notify_all()
        log.error("pipeline %s is %s: %s", self.plan.name, self._life.state.value, error)
