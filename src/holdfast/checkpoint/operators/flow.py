"""Puts operators, edges and snapshots together and runs them: the way in for a user.

    flow = await Flow.recover("fusion", graph, operators=…, store=store, epoch=store.take_over(), settings=…)
    await flow.run({"radar": source})

An operator that fails ends the flow. Restart it as a whole: what was on its edges is only in its sources.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from holdfast.checkpoint.operators.archive import open_archives
from holdfast.checkpoint.operators.coordinator import BarrierCoordinator
from holdfast.checkpoint.operators.credits import Edge
from holdfast.checkpoint.operators.dedup import DedupLimits
from holdfast.checkpoint.operators.feed import SourceFeed
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.horizon import ReplayHorizon
from holdfast.checkpoint.operators.mending import mend_and_find_restart
from holdfast.checkpoint.operators.operator import CheckpointedOperator
from holdfast.checkpoint.operators.parts import PartsKept
from holdfast.checkpoint.operators.retention import PointsKept
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.checkpoint.operators.writer import SnapshotWriter, in_thread
from holdfast.checkpoint.replication.counting import LabelledCounter, recovery_path_total
from holdfast.flow.timer import SystemTimer
from holdfast.model.errors import InvalidFlow
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from typing import Never

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators.archive import Archive
    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.health import OperatorHealth
    from holdfast.checkpoint.operators.items import Operator, Source
    from holdfast.checkpoint.operators.recovery import Recovery
    from holdfast.checkpoint.operators.writer import Offload
    from holdfast.flow.timer import Timer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """How a flow takes its snapshots, and what it is run with."""

    mode: SnapshotMode = SnapshotMode.PER_OPERATOR
    cadence: float = 1.0
    """Seconds between two snapshots."""
    cadences: Mapping[str, float] = field(default_factory=dict)
    """Per operator, where it is another one; in per-operator mode only."""
    barrier_timeout: float = 10.0
    credits: int = 64
    """Messages that may be under way on one edge."""
    dedup: DedupLimits = field(default_factory=DedupLimits)
    paths: LabelledCounter = field(default_factory=recovery_path_total)
    """Counts by which routes the records of the snapshots came; a process has one."""
    timer: Timer = field(default_factory=SystemTimer)
    offload: Offload = in_thread
    hook: StepHook = no_hook


class Flow:
    """A recovered flow, ready to run once. Made by `Flow.recover`."""

    def __init__(
        self,
        graph: Graph,
        recovery: Recovery,
        *,
        operators: Mapping[str, Operator[Never, object]],
        archives: Mapping[str, Archive],
        settings: FlowSettings,
    ) -> None:
        self.recovery = recovery
        """Where this run started; its snapshots are given to the operators and not kept."""
        self._graph = graph
        self._settings = settings
        self._edges: dict[str, Edge[Any]] = {
            link.name: Edge(link.name, credits=settings.credits) for link in graph.links
        }
        self.feeds = {name: self._feed(name) for name in graph.sources}
        books = PartsKept if settings.mode is SnapshotMode.ALIGNED else PointsKept
        self._kept: PartsKept | PointsKept = books(graph, recovery.points)
        self._horizon = ReplayHorizon(archives, self._kept.safe_replays())
        self.operators = {name: self._operator(name, operators[name], archives[name]) for name in graph.operators}
        self._coordinator = (
            self._coordinates(self._kept, archives[graph.operators[0]]) if isinstance(self._kept, PartsKept) else None
        )

    @classmethod
    async def recover(
        cls,
        name: str,
        graph: Graph,
        *,
        operators: Mapping[str, Operator[Never, object]],
        store: CheckpointStore,
        epoch: int,
        settings: FlowSettings,
    ) -> Flow:
        """A flow at the point where its last run can be continued; the operators given are fresh ones.

        A store that is behind its remote tier is brought up to it.

        :param epoch: what `take_over` of the store returned.
        """
        if set(operators) != set(graph.operators):
            what = f"The graph has the operators {sorted(graph.operators)}, but {sorted(operators)} were given."
            raise InvalidFlow(what, remedy="Give exactly the operators that the graph names.")
        keys = FlowKeys(name, settings.mode)

        def find() -> tuple[Recovery, dict[str, Archive]]:
            recovery = mend_and_find_restart(store, graph, keys, epoch=epoch, paths=settings.paths)
            return recovery, open_archives(store, keys, graph.operators, epoch=epoch, hook=settings.hook)

        recovery, archives = await settings.offload(find)
        flow = cls(graph, recovery, operators=operators, archives=archives, settings=settings)
        flow._restore()
        starts = {operator: point.snapshot_id for operator, point in recovery.points.items()}
        level = logging.WARNING if recovery.passed_over else logging.INFO
        logger.log(level, "flow %s recovered: snapshots %s, passed over %s", name, starts, recovery.damaged)
        return flow

    @property
    def coordinator(self) -> BarrierCoordinator:
        """Who takes the aligned snapshots; a flow whose operators save on their own has none."""
        assert self._coordinator is not None, "the flow is not in aligned mode"
        return self._coordinator

    async def run(self, sources: Mapping[str, Source[object]]) -> None:
        """Work until every source has ended and all is applied and saved. Other sources are pushed to their feeds."""
        async with asyncio.TaskGroup() as group:
            working = [group.create_task(operator.run()) for operator in self.operators.values()]
            for name, source in sources.items():
                group.create_task(self.feeds[name].read_all(source))
            clocks = [group.create_task(clock) for clock in self._clocks()]
            await self._ends()
            await asyncio.wait(working)
            for clock in clocks:
                clock.cancel()

    def health(self) -> list[OperatorHealth]:
        """How the operators and their checkpoints are."""
        return [operator.health() for operator in self.operators.values()]

    async def safe_replays(self) -> Mapping[str, ReplayFrom]:
        """The earliest point at which each source may yet be asked to start; a source may forget what is before it.

        With a remote tier, only what was copied counts, so that a lost disk asks for nothing that is forgotten.
        """
        candidate = self._horizon.consider(self._kept.safe_replays())
        if await self._settings.offload(lambda: self._horizon.is_reached(candidate)):
            self._horizon.move_to(candidate)
        return self._horizon.safe

    async def _ends(self) -> None:
        """End each source's edges: one by one as they close, or together behind the last aligned snapshot."""
        if self._settings.mode is SnapshotMode.PER_OPERATOR:
            await asyncio.gather(*(self._end_of(feed) for feed in self.feeds.values()))
            return
        for feed in self.feeds.values():
            await feed.closed()
        await self.coordinator.last_snapshot()
        for feed in self.feeds.values():
            await feed.end()

    async def _end_of(self, feed: SourceFeed[object]) -> None:
        await feed.closed()
        await feed.end()

    # Assembly

    def _restore(self) -> None:
        for name, snapshot in self.recovery.snapshots.items():
            self.operators[name].restore(snapshot)
        self.recovery = replace(self.recovery, snapshots={})
        if self.recovery.completion is not None:
            for operator in self.operators.values():
                operator.completed(self.recovery.completion.snapshot_id)

    def _clocks(self) -> list[Coroutine[None, None, None]]:
        if self._settings.mode is SnapshotMode.ALIGNED:
            return [self.coordinator.run(self._settings.cadence)]
        return [self._tick(operator) for operator in self.operators.values()]

    async def _tick(self, operator: CheckpointedOperator[Never, object]) -> None:
        cadence = self._settings.cadences.get(operator.name, self._settings.cadence)
        while True:
            await self._settings.timer.sleep(cadence)
            operator.request_snapshot()

    def _feed(self, name: str) -> SourceFeed[object]:
        edges = [self._edges[link.name] for link in self._graph.out_of(name)]
        return SourceFeed(name, edges, self.recovery.replay[name])

    def _operator(
        self, name: str, operator: Operator[Never, object], archive: Archive
    ) -> CheckpointedOperator[Never, object]:
        settings = self._settings
        writer = SnapshotWriter(archive, timer=settings.timer, listener=self._kept, offload=settings.offload)
        return CheckpointedOperator(
            name,
            operator,
            mode=settings.mode,
            inputs=[self._edges[link.name] for link in self._graph.into(name)],
            outputs=[self._edges[link.name] for link in self._graph.out_of(name)],
            writer=writer,
            timer=settings.timer,
            limits=settings.dedup,
            hook=settings.hook,
        )

    def _coordinates(self, parts: PartsKept, archive: Archive) -> BarrierCoordinator:
        return BarrierCoordinator(
            archive,
            operators=tuple(self.operators.values()),
            feeds=tuple(self.feeds.values()),
            parts=parts,
            newest=self.recovery.completion.snapshot_id if self.recovery.completion else 0,
            timer=self._settings.timer,
            timeout=self._settings.barrier_timeout,
            offload=self._settings.offload,
        )
