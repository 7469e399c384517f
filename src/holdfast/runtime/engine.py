"""A pipeline at work: it is started, paused, drained, stopped and asked how it is.

Capture, lanes and the query work in threads of their own around what is on disk. Capture and lanes are up before the
JVM is: at a restart they work again while Spark is still starting. One more thread watches: it lets the keeper do its
rounds, and brings everything to rest once the run is over.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from holdfast.capture import capture_of
from holdfast.capture.runner import Reach
from holdfast.deliver import Delivery, DeliverySettings
from holdfast.flow.exits import Exit
from holdfast.model.errors import HoldfastError
from holdfast.model.steps import StepHook, no_hook
from holdfast.runtime.acknowledging import SourceAcknowledger
from holdfast.runtime.causes import reason_of
from holdfast.runtime.course import Course
from holdfast.runtime.ground import Accept, Ground
from holdfast.runtime.keeper import Keeper
from holdfast.runtime.lifecycle import State, state_after
from holdfast.runtime.owner import Takeover
from holdfast.runtime.records import Pause
from holdfast.runtime.status import PipelineStatus, SparkStatus
from holdfast.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from holdfast.ledger import StopRecord
    from holdfast.log.values import Published
    from holdfast.runtime.plan import Plan
    from holdfast.runtime.processor import Processor
    from holdfast.runtime.publisher import Replay

log = logging.getLogger("holdfast")

_TICK = 0.05
_LATELY = timedelta(minutes=10)
_ACKNOWLEDGING = 5.0
"""Seconds that a stop waits for sources that are being acknowledged."""


class Engine:
    """One run of a pipeline in this process."""

    def __init__(
        self,
        plan: Plan,
        processor: Callable[[], Processor],
        *,
        takeover: Takeover = Takeover.REFUSE,
        accept: Accept = Accept.NOTHING,
        reach: Reach = Reach.END,
        hook: StepHook = no_hook,
    ) -> None:
        self.plan = plan
        self._new_processor = processor
        self._takeover = takeover
        self._accept = accept
        self.reach = reach
        self._hook = hook
        self._course = Course(plan.name)
        self._closing = threading.Lock()
        self._stopping = threading.Event()
        self._is_open = False
        self._newest: Published | None = None
        self.stop_record: StopRecord | None = None

    # Starting

    def start(self) -> None:
        """Open what is on disk, start capture and lanes, and then Spark in the background."""
        self.ground = Ground.open(self.plan, takeover=self._takeover, accept=self._accept, hook=self._hook)
        self.captures = [
            capture_of(source, self.ground.inboxes[source.name], failed=self._course.end_by, reach=self.reach)
            for source in self.plan.sources
        ]
        self._acknowledger = SourceAcknowledger(self.plan.sources, hook=self._hook)
        self.delivery = self._new_delivery()
        self._keeper = Keeper(
            self.ground,
            self.delivery,
            may_admit=lambda: self._course.state is State.RUNNING,
            synced=self._acknowledger.synced,
        )
        self._supervisor = Supervisor(
            self.plan, self.ground, self._new_processor, published=self._note_published, failed=self._course.end_by
        )
        try:
            self._keeper.set_admission()
            self.delivery.start()
        except BaseException as error:
            try:
                self.ground.note_end(Exit.ERRORED, reason_of(error))
            except HoldfastError as trouble:
                log.warning("how the run ended cannot be written down: %s", trouble)
            finally:
                self.ground.close()
            raise
        self._is_open = True
        self._course.become(self._first_state())  # before anything that may fail at once, and so end the run
        for capture in self.captures:
            capture.start()
        self._acknowledger.start()
        self._supervisor.start()
        self._watcher = threading.Thread(target=self._watch, name=f"watch-{self.plan.name}", daemon=True)
        self._watcher.start()

    def _first_state(self) -> State:
        since = self.ground.pause.since
        if since is None:
            return State.RUNNING
        log.warning("pipeline %s is paused since %s; it goes on when it is resumed", self.plan.name, since.isoformat())
        return State.PAUSED

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
            captured_at=self.ground.captured_at,
            committed=self._acknowledger.committed,
            hook=self._hook,
            settings=DeliverySettings(
                cadence=self.plan.checkpoint.cadence.total_seconds(), keep_versions=self.plan.checkpoint.keep_versions
            ),
        )

    def _note_published(self, batch: Published) -> None:
        """A full outbox admits nothing from the very next batch on; if that cannot be written, the keeper does it."""
        self.delivery.published(batch)
        with suppress(HoldfastError):
            self._keeper.set_admission()

    # Control

    @property
    def state(self) -> State:
        """What the pipeline is doing."""
        return self._course.state

    def pause(self) -> None:
        """Admit nothing new to Spark; lanes finish what is in the outbox. It stays so, also after a restart."""
        self._course.check(State.PAUSED)
        self.ground.note_pause(Pause(datetime.now(UTC)))
        self._course.become(State.PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        self._course.check(State.RUNNING)
        self.ground.note_pause(Pause())
        self._course.become(State.RUNNING)

    def attach(self, sink: str) -> None:
        """Deliver again to a sink that was detached, from where the outbox still is."""
        self.delivery.attach(sink)

    def drain(self, deadline: float) -> StopRecord:
        """Stop in order: capture, Spark's running batch, lanes until the deadline in seconds, cursors, ownership.

        A JVM that is still coming up is not waited for.
        """
        self._course.become(State.DRAINING)
        until = time.monotonic() + deadline
        for capture in self.captures:
            capture.stop()
        self._finish_what_is_planned(until)
        self._end_threads()
        left = max(0.0, until - time.monotonic())
        self.stop_record = self.delivery.drain(left, unprocessed=self._unprocessed())
        self._end("")
        return self.stop_record

    def stop(self) -> None:
        """End now, without draining. What was captured is in the inbox, what was published in the outbox."""
        if not self._is_open:
            return
        for capture in self.captures:
            capture.stop()
        self._end_threads()
        self.stop_record = self.delivery.stop(unprocessed=self._unprocessed())
        self._end("stopped without draining")

    def wait(self, *, caught_up: bool, timeout: float | None = None) -> bool:
        """Wait until the pipeline is over, or has delivered everything it is to read."""
        return self._course.wait(lambda: caught_up and self.is_caught_up(), timeout)

    def is_caught_up(self) -> bool:
        """Whether every source is read as far as it is to be, and every sink has everything that came of it."""
        if not all(capture.finished for capture in self.captures):
            return False
        return not self.ground.unprocessed() and self.delivery.is_caught_up()

    def status(self) -> PipelineStatus:
        """Where everything stands."""
        with self._closing:
            newest = self.ground.outbox.newest() if self._is_open else self._newest
        return PipelineStatus(
            name=self.plan.name,
            state=self._course.state,
            error=None if self._course.error is None else str(self._course.error),
            captures=[capture.status() for capture in self.captures],
            acknowledgements=self._acknowledger.status(),
            spark=SparkStatus(
                active=self._supervisor.is_active,
                batch_id=newest.batch_id if newest else None,
                restarts=self._supervisor.restarts,
                replays=self.replays,
                isolating=self._supervisor.isolating,
                starts=dict(self._supervisor.starts),
                timing=self._supervisor.timing,
                last_failure=self._supervisor.last_failure,
                lost_lately=self._supervisor.losses_within(_LATELY),
            ),
            delivery=self.delivery.status(),
            dead_letters=self.ground.dead_letters.status(),
        )

    @property
    def is_open(self) -> bool:
        """Whether the pipeline's files are still held by this run."""
        return self._is_open

    @property
    def replays(self) -> Sequence[Replay]:
        """The batches that Spark ran again, newest last."""
        return self._supervisor.replays

    @property
    def error(self) -> BaseException | None:
        """What ended the run, if something did."""
        return self._course.error

    # Watching

    def _watch(self) -> None:
        while not self._stopping.wait(_TICK):
            if self._course.state.is_over:
                self._come_to_rest()
                return
            try:
                self._keeper.keep()
            except HoldfastError as error:
                if state_after(error) is not State.FAILED:
                    self._course.end_by(error)
                else:
                    log.warning("keeping house failed, it is tried again: %s", error)
            except Exception as error:  # a sync that failed once must not be trusted when it succeeds later
                self._course.end_by(error)
            failure = self.delivery.failure()
            if failure is not None:
                self._course.end_by(failure)

    def _come_to_rest(self) -> None:
        """The run is over: nothing is read and nothing is published any more. Lanes rest when it is stopped."""
        self._supervisor.ask_to_stop()
        self._acknowledger.stop(0)
        for capture in self.captures:
            capture.stop()

    # Ending

    def _finish_what_is_planned(self, until: float) -> None:
        """Close admission, and let Spark finish what it has planned."""
        try:
            self._keeper.set_admission()
        except HoldfastError as error:
            log.warning("admission cannot be closed, so Spark is stopped after the batch that runs: %s", error)
        else:
            self._supervisor.finish_what_is_planned(until)

    def _unprocessed(self) -> dict[str, int]:
        """What waits in the inboxes, for the record; nothing when they cannot say any more."""
        try:
            return self.ground.unprocessed()
        except HoldfastError as error:
            log.warning("the events that wait in the inboxes cannot be counted; they are kept there: %s", error)
            return {}

    def _end_threads(self) -> None:
        self._stopping.set()
        self._supervisor.stop()
        self._watcher.join()
        self._acknowledger.stop(_ACKNOWLEDGING)

    def _end(self, manner: str) -> None:
        """Write down how the run ended, as far as the disk lets us, and give everything up."""
        failure = self.delivery.failure()
        if failure is not None and not self._course.state.is_over:
            self._course.end_by(failure)
        try:
            if self._course.error is None:
                self._keeper.sync_spark()
                self.ground.note_end(Exit.OK, manner)
            elif self._course.state is not State.FENCED:
                self.ground.note_end(Exit.ERRORED, reason_of(self._course.error))
        except (HoldfastError, OSError) as trouble:
            log.warning("how the run ended cannot be written down: %s", trouble)
        finally:
            self._close()
        if not self._course.state.is_over:
            self._course.become(State.STOPPED)

    def _close(self) -> None:
        with self._closing:
            if self._is_open:
                with suppress(HoldfastError):
                    self._newest = self.ground.outbox.newest()
            self._is_open = False
        self.ground.close()
