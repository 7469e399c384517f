"""Writes an operator's snapshots behind its back, and remembers how that went.

The snapshot is encoded and written in a thread, so the event loop goes on. Older versions that no recovery can need
any more are pruned after the write; that this failed is reported, but the snapshot counts.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeVar

from holdfast.checkpoint.contract import TypedKey
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.histogram import DurationHistogram
from holdfast.model.errors import CheckpointError, Fenced

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
    from holdfast.checkpoint.operators.timer import Timer

R = TypeVar("R")


class Offload(Protocol):
    """Runs blocking work without stopping the event loop."""

    async def __call__(self, work: Callable[[], R], /) -> R:
        """What the work returned."""


class StepHook(Protocol):
    """Told the name of every step, so that a test can end the process at any of them."""

    def __call__(self, step: str, /) -> None:
        """The named step is next."""


async def in_thread(work: Callable[[], R], /) -> R:
    """Run the work in a thread of the event loop's pool."""
    return await asyncio.to_thread(work)


def no_hook(step: str, /) -> None:
    """Nobody wants to know."""


class SnapshotListener(Protocol):
    """Who is told about an operator's snapshots; decides which versions are still needed."""

    def oldest_needed(self, operator: str) -> int:
        """The oldest version of the operator's snapshots that a recovery may ask for; 0 keeps all."""

    def durable(self, cut: Cut, version: int) -> None:
        """A snapshot is in the store under this version."""

    def failed(self, cut: Cut, error: CheckpointError) -> None:
        """A snapshot could not be written, or it is not known whether it was."""


class SnapshotWriter:
    """Writes the snapshots of one operator under one key, one at a time, each in a task of its own."""

    def __init__(
        self,
        store: CheckpointStore,
        key: str,
        *,
        epoch: int,
        timer: Timer,
        listener: SnapshotListener,
        offload: Offload = in_thread,
        hook: StepHook = no_hook,
    ) -> None:
        self._store = store
        self._key = TypedKey(key, SnapshotCodec())
        self._epoch = epoch
        self._timer = timer
        self._listener = listener
        self._offload = offload
        self._hook = hook
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
            version = await self._timed(snapshot)
            self._listener.durable(snapshot.cut, version)
        except CheckpointError as error:
            self.failed += 1
            self.error = error
            self.fatal = error if isinstance(error, Fenced) else None
            self._listener.failed(snapshot.cut, error)
        except Exception as error:  # a defect, such as an offset that is not JSON: it must not end in a lost task
            self.fatal = error

    async def _timed(self, snapshot: OperatorSnapshot) -> int:
        taken_at = self._timer.monotonic()
        oldest = self._listener.oldest_needed(snapshot.cut.operator)
        version, prune_error = await self._offload(lambda: self._put(snapshot, oldest))
        self.durations.record(self._timer.monotonic() - taken_at)
        self.written += 1
        self.size, self.durable_at, self.error = snapshot.size, taken_at, prune_error
        return version

    def _put(self, snapshot: OperatorSnapshot, prune_before: int) -> tuple[int, CheckpointError | None]:
        self._hook("snapshot.write")
        version = self._store.put(self._key, snapshot, epoch=self._epoch)
        self._hook("snapshot.durable")
        try:
            prune_before_version(self._store, self._key.name, prune_before, epoch=self._epoch)
        except Fenced:
            raise
        except CheckpointError as error:
            return version, error
        return version, None


def prune_before_version(store: CheckpointStore, key: str, version: int, *, epoch: int) -> None:
    """Forget the versions of a key that are older than the given one."""
    numbers = [kept.number for kept in store.versions(key)]
    needed = sum(number >= version for number in numbers)
    if 0 < needed < len(numbers):
        store.prune(key, keep=needed, epoch=epoch)
