"""What follows from how far Spark and the lanes are: Spark's checkpoint is synced, and inboxes forget.

It also closes and opens admission, and has an optional sink detached that keeps the outbox full. Every duty is done in
rounds, again and again; one that fails is tried in the next round. It starts no thread and decides nothing about the
pipeline's life.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from holdfast.disk.space import DiskReserve, disk_space
from holdfast.runtime.relief import Relief
from holdfast.runtime.retention import Pressure, disk_pressure, kept_under, quota_pressure
from holdfast.runtime.rollback.points import Points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from holdfast.deliver import Delivery
    from holdfast.log import Inbox
    from holdfast.log.values import Published
    from holdfast.model.positions import Position
    from holdfast.runtime.ground import Ground

_SWEEP_EVERY = 10.0
"""Seconds between two looks at the age of dead letters."""
_BATCHES_SPARK_MAY_REPLAY = 2
_BATCHES_KEPT_FOR_COPIES = 100
"""As many as Spark keeps in its own books, so that an older copy of its checkpoint can be continued."""


class Keeper:
    """Keeps house for one run.

    :param may_admit: whether the pipeline's state lets Spark take in more.
    :param synced: told where the sources stand after the newest batch that survives a loss of power.
    """

    def __init__(
        self,
        ground: Ground,
        delivery: Delivery,
        *,
        may_admit: Callable[[], bool],
        synced: Callable[[Mapping[str, Position]], None],
    ) -> None:
        quotas = ground.plan.quotas
        self._ground = ground
        self._delivery = delivery
        self._points = Points(ground.layout, ground.plan.points, hook=ground.hook)
        self._relief = None if quotas.outbox is None else Relief(quotas.outbox, quotas.detach_after.total_seconds())
        self._reserve = DiskReserve(ground.layout.disks())
        self._may_admit = may_admit
        self._tell_synced = synced
        self._admission = threading.Lock()
        self._admits: bool | None = None
        self._synced: Published | None = None
        self._sweep_at = 0.0

    def keep(self) -> None:
        """One round of everything."""
        self._reserve.tend()
        self.sync_spark()
        self._relieve()
        self.set_admission()
        self._sweep_dead_letters()

    def set_admission(self) -> None:
        """Let Spark take in more, or not. It asks in a process of its own, so this goes through the inboxes."""
        with self._admission:
            is_open = self._may_admit() and self._ground.outbox.has_room()
            if is_open is self._admits:
                return
            for inbox in self._ground.inboxes.values():
                (inbox.resume_admission if is_open else inbox.pause_admission)()
            self._admits = is_open

    def _relieve(self) -> None:
        """Have a sink detached for which alone a full outbox has waited long enough."""
        if self._relief is not None:
            used = self._ground.outbox.retained().nbytes
            name = self._relief.due(used, self._delivery.holding_back(), time.monotonic())
            if name is not None:
                self._delivery.detach(name)

    def sync_spark(self) -> None:
        """Make Spark's newest finished batch survive a loss of power, then forget what nobody needs any more."""
        finished = self._ground.checkpoint.newest_finished()
        if finished is not None and (self._synced is None or finished > self._synced.batch_id):
            batch = self._ground.outbox.find(finished)
            if batch is not None:
                self._ground.checkpoint.sync_finished(finished)
                self._synced = batch
                self._tell_synced(batch.positions)
                self._keep_points(batch)
        self._free_delivered()
        if self._synced is not None:
            for name, inbox in self._ground.inboxes.items():
                self._forget_what_was_read(name, inbox, self._synced)

    def _keep_points(self, newest: Published) -> None:
        """Make rollback points only while there is room for them and for what they need."""
        inboxes = self._ground.inboxes.items()
        if not any(max(self._pressures(name, inbox.retained().nbytes)) for name, inbox in inboxes):
            self._points.keep(self._ground.checkpoint, newest)

    def _free_delivered(self) -> None:
        """Let go the batches that every sink has, and a rollback point, when their disk is short of room."""
        if disk_pressure(disk_space(self._ground.outbox.parts_directory)):
            self._ground.outbox.forget_delivered()
        if disk_pressure(disk_space(self._ground.layout.root)):
            self._points.drop_the_oldest()

    def _pressures(self, name: str, used: int) -> tuple[Pressure, Pressure]:
        """How short room is for an inbox: by its quota, and by its disk."""
        space = disk_space(self._ground.layout.inbox(name))
        return quota_pressure(used, self._ground.plan.quotas.inbox), disk_pressure(space)

    def _forget_what_was_read(self, name: str, inbox: Inbox, newest: Published) -> None:
        retained, plan = inbox.retained(), self._ground.plan
        by_quota, by_disk = self._pressures(name, retained.nbytes)
        through = self._done_through(inbox.uuid, newest, max(by_quota, by_disk))
        if through > retained.held_by.get("spark", 0):
            inbox.set_cursor("spark", through)
        if through >= retained.first_seq:
            inbox.trim(keep=kept_under(by_quota, by_disk, plan.keep, plan.quotas.inbox))
            self._points.drop_what_reads_before(inbox.uuid, inbox.retained().first_seq)

    def _done_through(self, inbox: str, newest: Published, pressure: Pressure) -> int:
        """How far an inbox is not needed any more. What is kept for older copies gives way when room is short."""
        if pressure is Pressure.FULL:
            return newest.ends.get(inbox, 0)
        if pressure is Pressure.HIGH:
            self._points.drop_the_oldest()
        kept = _BATCHES_KEPT_FOR_COPIES if pressure is Pressure.NONE else _BATCHES_SPARK_MAY_REPLAY
        oldest = self._ground.outbox.find(max(0, newest.batch_id - kept)) or newest
        through, point = oldest.starts.get(inbox, 0), self._points.read_by_the_oldest(inbox)
        return through if point is None else min(through, point)

    def _sweep_dead_letters(self) -> None:
        """Let go the dead letters that are too old, now and then."""
        if time.monotonic() >= self._sweep_at:
            self._ground.dead_letters.sweep(released=self._ground.outbox.trimmed())
            self._sweep_at = time.monotonic() + _SWEEP_EVERY
