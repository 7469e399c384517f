"""Looks at a pipeline that runs in this process: every tenth of a second at its cursors, every second at all of it.

It only reads, from handles of its own where a shared one would hold others up. When something cannot be read, the last
picture stands, with the state of now.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.checkpoint import CURSORS
from holdfast.control.passing import Passing
from holdfast.control.snapshot import (
    CheckpointView,
    DeadLettersView,
    LaneView,
    OutboxView,
    RemoteCopyView,
    Snapshot,
    SourceView,
    SparkView,
)
from holdfast.disk.space import DiskSpace, disk_space
from holdfast.log import Fate, InboxReader
from holdfast.model.clock import utc_now
from holdfast.model.errors import HoldfastError, NotInLog, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from holdfast.capture import CaptureStatus
    from holdfast.checkpoint import Replication, Version
    from holdfast.deliver import DeliveryStatus, LaneStatus
    from holdfast.log import DeadLetterStatus, Published
    from holdfast.runtime.engine import Engine
    from holdfast.runtime.status import PipelineStatus

_LOOK = 0.1
_HISTORY = 660
"""Snapshots that are kept: eleven minutes at one a second."""


class Observer:
    """The pictures of one run.

    :param interval: seconds from one picture to the next.
    :param told: given the pictures whenever one was added.
    """

    def __init__(
        self, engine: Engine, *, interval: float = 1.0, told: Callable[[tuple[Snapshot, ...]], None] = lambda _: None
    ) -> None:
        self._engine = engine
        self._interval = interval
        self._told = told
        self._history: deque[Snapshot] = deque(maxlen=_HISTORY)
        self._reading = threading.Lock()
        self._stop = threading.Event()
        self._cursors: Version | None = None
        with ExitStack() as opened:
            self._readers = {
                name: opened.enter_context(InboxReader.open(engine.ground.layout.inbox(name)))
                for name in engine.ground.inboxes
            }
            self._passing = Passing(engine, self._readers)
            self._history.append(self._snapshot())
            self._opened = opened.pop_all()
        self._thread = threading.Thread(target=self._run, name=f"observe-{engine.plan.name}", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()
        self._opened.close()

    def pictures(self) -> tuple[Snapshot, ...]:
        """What was seen, oldest first, and how it is now."""
        with self._reading:
            return (*self._history, self._now())

    def _run(self) -> None:
        looks = max(1, round(self._interval / _LOOK))
        count = 0
        while not self._stop.wait(self._interval / looks):
            count += 1
            with self._reading:
                self._passing.look()
                if count % looks:
                    continue
                self._history.append(self._now())
                pictures = tuple(self._history)
            self._told(pictures)

    def _now(self) -> Snapshot:
        try:
            return self._snapshot()
        except HoldfastError:
            engine = self._engine
            error = None if engine.error is None else str(engine.error)
            return replace(self._history[-1], at=utc_now(), state=engine.state.value, error=error)

    # The picture

    def _snapshot(self) -> Snapshot:
        engine, ground, now = self._engine, self._engine.ground, utc_now()
        status = engine.status()
        newest = ground.outbox.newest()
        space = disk_space(ground.layout.root) or DiskSpace(0, 0)
        return Snapshot(
            pipeline=status.name,
            state=status.state.value,
            pid=os.getpid(),
            at=now,
            error=status.error,
            trouble=status.delivery.trouble,
            sources=tuple(self._source(capture, status, newest, now) for capture in status.captures),
            spark=SparkView(
                active=status.spark.active,
                batch_id=status.spark.batch_id,
                restarts=status.spark.restarts,
                replays=len(status.spark.replays),
                starts=status.spark.starts,
                timing=status.spark.timing,
                last_failure=status.spark.last_failure,
                lost_lately=status.spark.lost_lately,
            ),
            outbox=OutboxView(
                status.delivery.newest,
                status.delivery.committed,
                ground.outbox.retained().nbytes,
                engine.plan.quotas.outbox,
            ),
            lanes=tuple(self._lane(lane, now) for lane in status.delivery.lanes.values()),
            checkpoint=self._checkpoint(status.delivery, now),
            dead_letters=_dead_letters(status.dead_letters),
            disk_free=space.free,
            disk_headroom=space.headroom,
        )

    def _source(
        self, capture: CaptureStatus, status: PipelineStatus, newest: Published | None, now: datetime
    ) -> SourceView:
        inbox = self._engine.ground.inboxes[capture.source]
        read = newest.ends.get(inbox.uuid, 0) if newest else 0
        waiting = max(0, capture.end - read)
        since = self._readers[capture.source].appended_at(read + 1) if waiting else None
        known = status.acknowledgements[capture.source]
        return SourceView(
            name=capture.source,
            state=capture.state.name.lower(),
            captured=capture.captured,
            end=capture.end,
            waiting=waiting,
            age=_seconds(since, now),
            nbytes=inbox.retained().nbytes,
            quota=self._engine.plan.quotas.inbox,
            position=None if known.position is None else str(known.position),
            error=capture.error,
            silent=capture.silent,
            is_stalled=capture.is_stalled,
            waiting_bytes=self._readers[capture.source].nbytes_after(read) if waiting else 0,
            event_lag=_lag(self._passing.newest_captured(capture.source, capture.end), now),
            unacknowledged=known.error,
            unacknowledged_for=_seconds(known.failing_since, now),
        )

    def _lane(self, lane: LaneStatus, now: datetime) -> LaneView:
        return LaneView(
            name=lane.name,
            kind=lane.kind,
            tier=lane.tier.value,
            required=lane.required,
            state=lane.state.value,
            cursor=lane.cursor,
            lag_batches=lane.lag_batches,
            lag_rows=lane.lag_rows,
            age=_seconds(self._published_at(lane.cursor + 1), now) if lane.lag_batches else 0.0,
            queued=lane.queued,
            in_flight=lane.in_flight,
            rejected=lane.rejected,
            rows_out=lane.rows_out,
            rows_dead=lane.rows_dead,
            rows_filtered=lane.rows_filtered,
            attempts=lane.attempts,
            breaker=lane.breaker.value,
            latency=self._passing.latency(lane.name),
            error=lane.stopped or (lane.last_error.message if lane.last_error else None),
            event_lag=_lag(self._passing.newest_delivered(lane.name), now),
        )

    def _published_at(self, oseq: int) -> datetime | None:
        try:
            return self._engine.ground.outbox.get(oseq).published_at
        except NotInLog:
            return None

    def _checkpoint(self, delivery: DeliveryStatus, now: datetime) -> CheckpointView:
        checkpoints = self._engine.ground.checkpoints
        version = self._newest_cursors()
        return CheckpointView(
            version.number if version else 0,
            _seconds(version.created_at, now) if version else 0.0,
            version.size if version else 0,
            delivery.is_durable,
            store=self._engine.plan.checkpoint.store.kind,
            recovery=checkpoints.recovery.value,
            remote=_remote_copy(checkpoints.replication()),
        )

    def _newest_cursors(self) -> Version | None:
        """Those that were last written. While the store does not answer, those that were last seen."""
        try:
            stored = self._engine.ground.store.get_raw(CURSORS.name)
        except StoreUnavailable:
            return self._cursors
        self._cursors = stored.version if stored else None
        return self._cursors


def _remote_copy(copy: Replication | None) -> RemoteCopyView | None:
    if copy is None:
        return None
    cause = copy.standing.value if copy.last_error is None else f"{copy.standing.value}; {copy.last_error}"
    return RemoteCopyView(copy.health.value, copy.commits_behind, copy.oldest_age, cause, copy.remedy)


def _dead_letters(status: DeadLetterStatus) -> DeadLettersView:
    arrived = status.totals.get(Fate.RECORDED, 0) + status.totals.get(Fate.REFUSED, 0)
    limits = status.limits
    return DeadLettersView(status.kept, status.new, arrived, limits.max_entries, limits.overflow.value)


def _seconds(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def _lag(newest: datetime | None, now: datetime) -> float | None:
    return None if newest is None else (now - newest).total_seconds()
