"""Takes snapshots of all operators at the same barrier, and says when one is complete.

One snapshot at a time: barriers go in at the sources and flow with the items; when every operator's part is durable,
one record names the parts, and only then does the snapshot exist for a recovery. When something does not happen in
time, the snapshot is given up, the inputs it held are let go, and the next one starts from nothing.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from holdfast.checkpoint.operators.items import Barrier
from holdfast.checkpoint.operators.writer import in_thread
from holdfast.model.errors import BarrierTimeout, CheckpointError, Fenced, StoreUnavailable
from holdfast.model.histogram import DurationHistogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checkpoint.operators.archive import Archive
    from holdfast.checkpoint.operators.history import Completion
    from holdfast.checkpoint.operators.parts import PartsKept
    from holdfast.checkpoint.operators.writer import Offload
    from holdfast.flow.timer import Timer

logger = logging.getLogger(__name__)


class AlignedOperator(Protocol):
    """What the coordinator needs of an operator."""

    @property
    def name(self) -> str:
        """The operator's name in the graph."""

    @property
    def writing(self) -> bool:
        """Whether a snapshot of it is being written."""

    async def settled(self) -> None:
        """Wait until none is."""

    def missing_barriers(self, snapshot_id: int) -> tuple[str, ...]:
        """The inputs whose barrier has not arrived."""

    def abandon(self, snapshot_id: int) -> None:
        """The snapshot is over: hold nothing for it any more."""

    def completed(self, snapshot_id: int) -> None:
        """The snapshot is complete."""


class BarrierFeed(Protocol):
    """Where barriers go in."""

    async def barrier(self, barrier: Barrier) -> None:
        """Send a barrier behind everything that was sent."""


class BarrierCoordinator:
    """Drives the aligned snapshots of a flow.

    :param operators: upstream first, so that a time-out names the input nearest to the cause.
    :param newest: the newest complete snapshot in the store; 0 for none.
    """

    def __init__(
        self,
        archive: Archive,
        *,
        operators: Sequence[AlignedOperator],
        feeds: Sequence[BarrierFeed],
        parts: PartsKept,
        newest: int,
        timer: Timer,
        timeout: float,
        offload: Offload = in_thread,
    ) -> None:
        self._archive = archive
        self._operators = tuple(operators)
        self._feeds = tuple(feeds)
        self._parts = parts
        self._timer = timer
        self._timeout = timeout
        self._offload = offload
        self._one_at_a_time = asyncio.Lock()
        self._is_last = False
        self.newest_complete = newest
        self.completed = 0
        self.skipped = 0
        """Due while a part of a given-up snapshot was still being written."""
        self.failed = 0
        self.error: CheckpointError | None = None
        """Why the last snapshot was given up; None when it was not."""
        self.durations = DurationHistogram()

    async def run(self, cadence: float) -> None:
        """Take a snapshot every `cadence` seconds. A given-up one is remembered in `error`; being fenced is raised."""
        while not self._is_last:
            await self._timer.sleep(cadence)
            if any(operator.writing for operator in self._operators):
                self.skipped += 1
                continue
            with suppress(CheckpointError):
                await self.snapshot()
            if isinstance(self.error, Fenced):
                raise self.error

    async def snapshot(self) -> Completion | None:
        """Take one snapshot; raises what it was given up for. None when the last one was already taken."""
        async with self._one_at_a_time:
            return None if self._is_last else await self._attempt()

    async def last_snapshot(self) -> Completion:
        """Take one more snapshot, after which there are none: the flow is about to end."""
        async with self._one_at_a_time:
            self._is_last = True
            for operator in self._operators:
                await operator.settled()
            return await self._attempt()

    async def _attempt(self) -> Completion:
        snapshot_id, started = self._archive.next_id(), self._timer.monotonic()
        try:
            completion = await self._take(snapshot_id)
        except CheckpointError as error:
            self.failed += 1
            self.error = error
            logger.warning("snapshot %d given up: %s", snapshot_id, error)
            raise
        self.error = None
        self.completed += 1
        self.newest_complete = snapshot_id
        self.durations.record(self._timer.monotonic() - started)
        for operator in self._operators:
            operator.completed(snapshot_id)
        return completion

    async def _take(self, snapshot_id: int) -> Completion:
        all_durable = self._parts.begin(snapshot_id)
        sending = [asyncio.create_task(feed.barrier(Barrier(snapshot_id))) for feed in self._feeds]
        try:
            await self._until(all_durable, snapshot_id)
            completion = all_durable.result()
            await self._offload(lambda: self._archive.complete(completion, oldest_needed=self.newest_complete))
        finally:
            all_durable.cancel()
            for task in sending:
                task.cancel()
            for operator in self._operators:
                operator.abandon(snapshot_id)
        self._parts.completed()
        return completion

    async def _until(self, all_durable: asyncio.Future[Completion], snapshot_id: int) -> None:
        deadline = asyncio.create_task(self._timer.sleep(self._timeout))
        either: tuple[asyncio.Future[Completion] | asyncio.Future[None], ...] = (all_durable, deadline)
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            deadline.cancel()
        if not all_durable.done():
            raise self._out_of_time(snapshot_id)

    # Giving up

    def _out_of_time(self, snapshot_id: int) -> CheckpointError:
        missing = [(op.name, name) for op in self._operators for name in op.missing_barriers(snapshot_id)]
        kept = f"Snapshot {self.newest_complete} stays the newest complete one, and the inputs held back go on."
        if not missing:
            writing = self._parts.missing()
            what = f"Snapshot {snapshot_id} was given up after {self._timeout:g} s: {writing} were still being written."
            remedy = "Look at the store, or allow more time; the next snapshot is taken on its cadence."
            return StoreUnavailable(what, kept=kept, remedy=remedy, operators=writing, snapshot_id=snapshot_id)
        operator, name = missing[0]
        return BarrierTimeout(
            f"Snapshot {snapshot_id} was given up after {self._timeout:g} s: "
            f"its barrier did not arrive at input {name!r} of operator {operator!r}.",
            kept=kept,
            remedy="See what slows this input down, or allow more time; the next snapshot is taken on its cadence.",
            operator=operator,
            input=name,
            missing=missing,
            snapshot_id=snapshot_id,
        )
