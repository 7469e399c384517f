"""Keeps the state of an operator that somebody else runs, such as a graph of `holdfast.flow`.

    keeper = await StateKeeper.recover("edge", state, store=store, epoch=store.take_over(), settings=…)
    async for number, observation in read_behind(keeper.offset):
        with keeper.change(number):
            await outlet.send(state.apply(observation))

State and offset are copied together between two changes, and written behind the operator's back; a restart finds both
or neither. What was sent after the newest durable snapshot is sent again after a crash: whoever takes it has to
recognise it. Operators that are fed by other operators with state, or need aligned snapshots, are run by `Flow`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from holdfast.checkpoint.operators.archive import open_archives
from holdfast.checkpoint.operators.arena import CopyArena
from holdfast.checkpoint.operators.dedup import InputCut
from holdfast.checkpoint.operators.graph import Graph, Link
from holdfast.checkpoint.operators.health import OperatorHealth, Status
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.mending import mend_and_find_restart
from holdfast.checkpoint.operators.retention import PointsKept
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot, SnapshotMode
from holdfast.checkpoint.operators.writer import SnapshotWriter
from holdfast.flow.health import Metric
from holdfast.model.errors import InvalidFlow
from holdfast.model.histogram import DurationHistogram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators.archive import Archive
    from holdfast.checkpoint.operators.flow import FlowSettings
    from holdfast.checkpoint.operators.items import Buffer, Offset
    from holdfast.checkpoint.operators.recovery import Recovery

_INPUT = "input"
_OVERDUE = 2.0
"""Cadences after which a checkpoint is late enough for an alarm."""


class Keepable(Protocol):
    """State that can be saved."""

    def snapshot(self) -> Sequence[Buffer]:
        """The state as buffers. They are copied before the next change, so views of live memory are right here."""

    def restore(self, buffers: Sequence[memoryview]) -> None:
        """Become what `snapshot` saw. Called at most once, before the first change."""


class StateKeeper:
    """The checkpoints of one state. Made by `StateKeeper.recover`."""

    def __init__(self, name: str, state: Keepable, writer: SnapshotWriter, settings: FlowSettings) -> None:
        self.name = name
        self.offset: Offset | None = None
        """Everything up to here is in the state; None is the beginning."""
        self.pauses = DurationHistogram()
        self._state = state
        self._writer = writer
        self._timer = settings.timer
        self._cadence = settings.cadences.get(name, settings.cadence)
        self._hook = settings.hook
        self._arena = CopyArena()
        self._changes = 0
        self._taken_at = self._started_at = settings.timer.monotonic()
        self._skipped = 0
        self._is_unsaved = False
        self._is_whole = True

    @classmethod
    async def recover(
        cls, name: str, state: Keepable, *, store: CheckpointStore, epoch: int, settings: FlowSettings
    ) -> StateKeeper:
        """A keeper whose state is that of the newest snapshot: of this disk, else of the remote tier, else fresh.

        :param epoch: what `take_over` of the store returned.
        """
        graph, keys = Graph((Link(_INPUT, "source", name),)), FlowKeys(name, SnapshotMode.PER_OPERATOR)

        def find() -> tuple[Recovery, Archive]:
            recovery = mend_and_find_restart(store, graph, keys, epoch=epoch, paths=settings.paths)
            return recovery, open_archives(store, keys, graph.operators, epoch=epoch, hook=settings.hook)[name]

        recovery, archive = await settings.offload(find)
        kept = PointsKept(graph, recovery.points)
        writer = SnapshotWriter(archive, timer=settings.timer, listener=kept, offload=settings.offload)
        keeper = cls(name, state, writer, settings)
        keeper._restore(recovery.snapshots.get(name))
        return keeper

    # Work

    @contextmanager
    def change(self, offset: Offset) -> Iterator[None]:
        """A block in which the state takes in everything up to an offset, and what that causes is sent.

        When it is left by an error, or cancelled, nobody knows how much of it is in the state: no snapshot is taken any
        more, and the next change is refused. Recover, and read again from the offset found.
        """
        if not self._is_whole:
            raise InvalidFlow(
                f"The state of {self.name!r} was left in the middle of a change behind offset {self.offset!r}.",
                kept="The newest snapshot and its offset are untouched.",
                remedy="Recover the state from its snapshot, and read again from the offset that comes with it.",
                operator=self.name,
            )
        self._is_whole = False
        yield
        self._is_whole = True
        self._is_unsaved = True
        self.offset = offset
        self._changes += 1
        self.save_if_due()

    async def keep(self) -> None:
        """Save at the cadence also while nothing changes; runs until it is cancelled."""
        while True:
            await self._timer.sleep(self._cadence)
            self.save_if_due()

    def save_if_due(self) -> None:
        """Take a snapshot when the last one is as old as the cadence; raises what made saving impossible for good."""
        if self._writer.fatal is not None:
            raise self._writer.fatal
        is_due = self._timer.monotonic() - self._taken_at >= self._cadence
        if not is_due or not self._is_whole or not (self._is_unsaved or self._writer.error):
            return
        if self._writer.busy:
            self._skipped += 1
            self._taken_at = self._timer.monotonic()
            return
        self._save()

    async def close(self) -> None:
        """Save what is not saved yet, and wait for it; a state that was left in the middle of a change is not saved."""
        await self._writer.settled()
        if self._is_whole and (self._is_unsaved or self._writer.error):
            self._save()
            await self._writer.settled()

    def _save(self) -> None:
        self._taken_at = started = self._timer.monotonic()
        inputs = {_INPUT: InputCut(self._changes, self.offset)}
        buffers = self._arena.copy(self._state.snapshot())
        snapshot = OperatorSnapshot(Cut(self.name, self._writer.next_id(), inputs, emitted=0), buffers)
        self._is_unsaved = False
        self.pauses.record(self._timer.monotonic() - started)
        self._hook("snapshot.copied")
        self._writer.start(snapshot, on_done=_nothing)

    def _restore(self, snapshot: OperatorSnapshot | None) -> None:
        if snapshot is not None:
            self._state.restore([memoryview(buffer) for buffer in snapshot.buffers])
            cut = snapshot.cut.inputs[_INPUT]
            self.offset, self._changes = cut.offset, cut.applied

    # Health

    @property
    def age(self) -> float:
        """Seconds since the newest durable snapshot of this run was taken, or since its start."""
        taken_at = self._writer.durable_at
        return self._timer.monotonic() - (self._started_at if taken_at is None else taken_at)

    @property
    def is_overdue(self) -> bool:
        """Whether something is unsaved for more than two cadences: worth an alarm."""
        return self.age > _OVERDUE * self._cadence and (self._is_unsaved or self._writer.busy or not self._is_whole)

    def health(self) -> OperatorHealth:
        """How the state and its checkpoints are."""
        error = self._writer.fatal or self._writer.error
        is_failed = self._writer.fatal is not None or not self._is_whole
        degraded = Status.HEALTHY if error is None else Status.DEGRADED
        return OperatorHealth(
            operator=self.name,
            status=Status.FAILED if is_failed else degraded,
            error=None if error is None else str(error),
            checkpoint_age=self.age,
            checkpoint_size=self._writer.size,
            snapshots_written=self._writer.written,
            snapshots_skipped=self._skipped,
            snapshots_failed=self._writer.failed,
            duplicates=0,
            too_late=0,
        )

    def metrics(self) -> tuple[Metric, ...]:
        """The figures of the checkpoints."""
        labels = {"operator": self.name}
        pauses = {"0.5": self.pauses.p50, "0.99": self.pauses.p99, "1": self.pauses.longest}
        return (
            Metric("checkpoint_age_seconds", self.age, labels),
            Metric("checkpoint_size_bytes", self._writer.size, labels),
            *(
                Metric("checkpoint_pause_duration_ms", pause * 1000, {**labels, "quantile": quantile})
                for quantile, pause in pauses.items()
            ),
        )


def _nothing() -> None:
    """Nobody waits for the write."""
