"""Runs a user's operator so that it can be restarted: applies items once, pauses for a copy, writes behind.

One task takes a message, applies it, emits what it caused, and only then looks whether a snapshot is wanted; so a
snapshot always lies between two items and its offsets are those of the last item in the state. The pause is the copy:
credits are withheld, the item at work finishes, the buffers are copied, the credits go back, the write follows in a
thread. What was emitted after the newest durable snapshot is emitted again after a crash, under the same numbers; the
operators downstream drop it by (input, number), and whoever takes the last outputs outside must do the same.

What to take next, what is a repeat and when barriers are aligned is decided in `merge`, `dedup` and `alignment`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from holdfast.checkpoint.operators.alignment import Alignment, Arrival
from holdfast.checkpoint.operators.arena import CopyArena
from holdfast.checkpoint.operators.dedup import DedupLimits, InputWindow, Verdict
from holdfast.checkpoint.operators.health import OperatorHealth, Status
from holdfast.checkpoint.operators.items import Barrier, End, HearsOfCompletion, Item
from holdfast.checkpoint.operators.merge import next_by_arrival, next_in_turn
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot, SnapshotMode
from holdfast.model.histogram import DurationHistogram
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checkpoint.operators.credits import Edge, Message
    from holdfast.checkpoint.operators.items import Operator
    from holdfast.checkpoint.operators.writer import SnapshotWriter
    from holdfast.flow.timer import Timer

In = TypeVar("In")
Out = TypeVar("Out")


class CheckpointedOperator(Generic[In, Out]):
    """A user's operator between its edges."""

    def __init__(
        self,
        name: str,
        operator: Operator[In, Out],
        *,
        mode: SnapshotMode,
        inputs: Sequence[Edge[In]],
        outputs: Sequence[Edge[Out]],
        writer: SnapshotWriter,
        timer: Timer,
        limits: DedupLimits | None = None,
        hook: StepHook = no_hook,
    ) -> None:
        self.name = name
        self.pauses = DurationHistogram()
        self._operator = operator
        self._mode = mode
        self._inputs = {edge.name: edge for edge in inputs}
        self._outputs = tuple(outputs)
        self._writer = writer
        self._timer = timer
        self._limits = limits or DedupLimits()
        self._hook = hook
        self._arena = CopyArena()
        self._alignment = Alignment(self._inputs)
        self._windows = {name: InputWindow(self._limits) for name in self._inputs}
        self._emitted = 0
        self._last_input: str | None = None
        self._ended: set[str] = set()
        self._unsaved = False
        self._pausing_since: float | None = None
        self._failure: BaseException | None = None
        self._dropped = dict.fromkeys(Verdict, 0)
        self._skipped = 0
        self._wake = asyncio.Event()
        for edge in inputs:
            edge.wakes(self._wake.set)

    # Life

    def restore(self, snapshot: OperatorSnapshot) -> None:
        """Become what the snapshot holds, state and offsets together. Before `run`."""
        now = self._timer.monotonic()
        self._operator.restore([memoryview(buffer) for buffer in snapshot.buffers])
        cuts = snapshot.cut.inputs
        self._windows = {name: InputWindow(self._limits, cuts.get(name), now=now) for name in self._inputs}
        self._emitted = snapshot.cut.emitted

    async def run(self) -> None:
        """Work until every input has ended. An error of the operator ends it, and nothing is saved after one."""
        try:
            while len(self._ended) < len(self._inputs):
                await self._step()
            await self._finish()
        except BaseException as error:
            self._failure = error
            raise

    async def _step(self) -> None:
        if self._writer.fatal is not None:
            raise self._writer.fatal
        if self._pausing_since is not None:
            self._save(self._writer.next_id())
        name = self._next_input()
        if name is None:
            self._wake.clear()
            await self._wake.wait()
            return
        edge = self._inputs[name]
        await self._handle(name, edge.receive())
        edge.give_back()

    def _next_input(self) -> str | None:
        names = tuple(self._inputs)
        if self._mode is SnapshotMode.PER_OPERATOR:
            ready = {name for name in names if self._inputs[name].ready}
            open_at = {name: self._windows[name].highest for name in names if name not in self._ended}
            return next_in_turn(names, ready, open_at)
        ready = {name for name in names if self._inputs[name].ready and name not in self._alignment.held}
        return next_by_arrival(names, ready, self._last_input)

    async def _handle(self, name: str, message: Message[In]) -> None:
        self._last_input = name
        match message:
            case Item():
                await self._process(name, message)
            case Barrier():
                await self._align(name, message)
            case End():
                self._ended.add(name)

    async def _process(self, name: str, item: Item[In]) -> None:
        window = self._windows[name]
        verdict = window.verdict(item.seq)
        self._dropped[verdict] += 1
        if verdict is not Verdict.NEW:
            return
        outputs = tuple(self._operator.apply(item))
        window.record(item.seq, item.offset, now=self._timer.monotonic())
        self._unsaved = True
        self._hook("operator.applied")
        for value in outputs:
            await self._emit(value)

    async def _emit(self, value: Out) -> None:
        self._emitted += 1
        self._hook("operator.emit")
        for edge in self._outputs:
            await edge.send(Item(edge.name, self._emitted, value, self._emitted))

    async def _finish(self) -> None:
        for edge in self._outputs:
            await edge.send(End())
        await self.settled()
        if self._mode is SnapshotMode.PER_OPERATOR and (self._unsaved or self._writer.error):
            self._save(self._writer.next_id())
            await self.settled()

    # Snapshots

    def request_snapshot(self) -> None:
        """Have a snapshot taken after the item at work. Does nothing when nothing happened since the last one."""
        if self._pausing_since is not None or not (self._unsaved or self._writer.error):
            return
        if self._writer.busy:
            self._skipped += 1
            return
        self._pausing_since = self._timer.monotonic()
        for edge in self._inputs.values():
            edge.withhold()
        self._wake.set()

    @property
    def write_durations(self) -> DurationHistogram:
        """How long the writes behind the pauses took."""
        return self._writer.durations

    @property
    def writing(self) -> bool:
        """Whether a snapshot is being written."""
        return self._writer.busy

    async def settled(self) -> None:
        """Wait until no snapshot is being written, and raise what made this operator unfit to go on."""
        await self._writer.settled()

    async def _align(self, name: str, barrier: Barrier) -> None:
        arrival = self._alignment.arrive(name, barrier.snapshot_id)
        self._hold_or_release()
        if arrival is Arrival.SNAPSHOT:
            self._save(barrier.snapshot_id)
            for edge in self._outputs:
                self._hook("barrier.forward")
                await edge.send(barrier)

    def missing_barriers(self, snapshot_id: int) -> tuple[str, ...]:
        """The inputs whose barrier of this snapshot has not arrived."""
        return self._alignment.missing(snapshot_id)

    def abandon(self, snapshot_id: int) -> None:
        """The aligned snapshot is given up: let go of the inputs that it held."""
        self._alignment.abandon(snapshot_id)
        self._hold_or_release()
        self._wake.set()

    def completed(self, snapshot_id: int) -> None:
        """The aligned snapshot is complete: tell the operator, if it wants to hear of it."""
        if isinstance(self._operator, HearsOfCompletion):
            self._operator.completed(snapshot_id)

    def _hold_or_release(self) -> None:
        for name, edge in self._inputs.items():
            (edge.withhold if name in self._alignment.held else edge.release)()

    def _save(self, snapshot_id: int) -> None:
        assert not self._writer.busy, "the copies of a snapshot would be overwritten while they are written"
        started = self._timer.monotonic() if self._pausing_since is None else self._pausing_since
        snapshot = self._copy(snapshot_id)
        self._pausing_since = None
        self._unsaved = False
        for edge in self._inputs.values():
            edge.release()
        self.pauses.record(self._timer.monotonic() - started)
        self._hook("snapshot.copied")
        self._writer.start(snapshot, on_done=self._wake.set)

    def _copy(self, snapshot_id: int) -> OperatorSnapshot:
        now = self._timer.monotonic()
        inputs = {name: window.cut(now) for name, window in self._windows.items()}
        buffers = self._arena.copy(self._operator.snapshot())
        return OperatorSnapshot(Cut(self.name, snapshot_id, inputs, self._emitted), buffers)

    # Health

    def health(self) -> OperatorHealth:
        """How this operator and its checkpoints are."""
        failure = self._failure or self._writer.fatal
        error = failure or self._writer.error
        degraded = Status.HEALTHY if error is None else Status.DEGRADED
        taken_at = self._writer.durable_at
        return OperatorHealth(
            operator=self.name,
            status=degraded if failure is None else Status.FAILED,
            error=None if error is None else str(error) or repr(error),
            checkpoint_age=None if taken_at is None else self._timer.monotonic() - taken_at,
            checkpoint_size=self._writer.size,
            snapshots_written=self._writer.written,
            snapshots_skipped=self._skipped,
            snapshots_failed=self._writer.failed,
            duplicates=self._dropped[Verdict.DUPLICATE],
            too_late=self._dropped[Verdict.TOO_LATE],
        )
