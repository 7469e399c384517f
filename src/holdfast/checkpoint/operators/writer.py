"""Writes an operator's snapshots behind its back, and remembers how that went.

The snapshot is encoded and written in a thread, so the event loop goes on. When it is complete by itself, it is
recorded as such in the same thread; when it is a part of an aligned one, somebody waits for all parts and does that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

from holdfast.checkpoint.operators.history import Completion
from holdfast.model.errors import CheckpointError, Fenced
from holdfast.model.histogram import DurationHistogram

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checkpoint.operators.archive import Archive
    from holdfast.checkpoint.operators.history import Part
    from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
    from holdfast.flow.timer import Timer

R = TypeVar("R")


class Offload(Protocol):
    """Runs blocking work without stopping the event loop."""

    async def __call__(self, work: Callable[[], R], /) -> R:
        """What the work returned."""


async def in_thread(work: Callable[[], R], /) -> R:
    """Run the work in a thread of the event loop's pool."""
    return await asyncio.to_thread(work)


class SnapshotListener(Protocol):
    """Who is told about an operator's snapshots; decides which are still needed."""

    def oldest_needed(self, operator: str) -> int | None:
        """The oldest snapshot that is kept beside a new one; None when the new one is not complete by itself."""

    def durable(self, cut: Cut, part: Part) -> None:
        """A snapshot is in the store, and recorded if it is complete by itself."""

    def failed(self, cut: Cut, error: CheckpointError) -> None:
        """A snapshot could not be written, or it is not known whether it was."""


class SnapshotWriter:
    """Writes the snapshots of one operator into an archive, one at a time, each in a task of its own."""

    def __init__(
        self, archive: Archive, *, timer: Timer, listener: SnapshotListener, offload: Offload = in_thread
    ) -> None:
        self._archive = archive
        self._timer = timer
        self._listener = listener
        self._offload = offload
        self._task: asyncio.Task[None] | None = None
        self.durations = DurationHistogram()
        self.written = 0
        self.failed = 0
        self.size = 0
        self.durable_at: float | None = None
        """When the newest durable snapshot was taken, on the timer."""
        self.error: CheckpointError | None = None
        """What the last write failed with; the next write tries again."""
        self.fatal: Exception | None = None
        """What must stop the operator: another owner has taken over, or a defect."""

    @property
    def busy(self) -> bool:
        """Whether a snapshot is being written."""
        return self._task is not None and not self._task.done()

    def next_id(self) -> int:
        """An id for a snapshot that the operator takes for itself."""
        return self._archive.next_id()

    def start(self, snapshot: OperatorSnapshot, *, on_done: Callable[[], None]) -> None:
        """Write the snapshot in the background; not while one is being written."""
        self._task = asyncio.create_task(self._write(snapshot))
        self._task.add_done_callback(lambda _: on_done())

    async def settled(self) -> None:
        """Wait until no snapshot is being written, and raise what must stop the operator."""
        if self._task is not None:
            await asyncio.wait({self._task})
        if self.fatal is not None:
            raise self.fatal

    async def _write(self, snapshot: OperatorSnapshot) -> None:
        try:
            part = await self._timed(snapshot)
            self._listener.durable(snapshot.cut, part)
        except CheckpointError as error:
            self.failed += 1
            self.error = error
            self.fatal = error if isinstance(error, Fenced) else None
            self._listener.failed(snapshot.cut, error)
        except Exception as error:  # a defect, such as an offset that is not JSON: it must not end in a lost task
            self.fatal = error

    async def _timed(self, snapshot: OperatorSnapshot) -> Part:
        taken_at = self._timer.monotonic()
        oldest = self._listener.oldest_needed(snapshot.cut.operator)
        part = await self._offload(lambda: self._put(snapshot, oldest))
        self.durations.record(self._timer.monotonic() - taken_at)
        self.written += 1
        self.size, self.durable_at, self.error = snapshot.size, taken_at, None
        return part

    def _put(self, snapshot: OperatorSnapshot, oldest_needed: int | None) -> Part:
        part = self._archive.write_part(snapshot)
        if oldest_needed is not None:
            completion = Completion(snapshot.cut.snapshot_id, {snapshot.cut.operator: part})
            self._archive.complete(completion, oldest_needed=oldest_needed)
        return part
