"""Keeps the books of aligned snapshots: which parts are durable, and where the snapshots kept replay from."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.checkpoint.operators.cuts import FRESH, Point, replays
from holdfast.checkpoint.operators.history import Completion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.history import Part
    from holdfast.checkpoint.operators.snapshot import Cut
    from holdfast.model.errors import CheckpointError


class PartsKept:
    """Collects the parts of one snapshot at a time. Parts of any other are of no interest when they arrive.

    The newest complete snapshot is kept together with the one before it, in case that it turns out damaged.
    """

    def __init__(self, graph: Graph, recovered: Mapping[str, Point]) -> None:
        fresh = dict.fromkeys(graph.operators, FRESH)
        self._graph = graph
        self._newest: Mapping[str, Point] = recovered
        self._before: Mapping[str, Point] = fresh
        self._snapshot_id = 0
        self._parts: dict[str, Part] = {}
        self._points: dict[str, Point] = {}
        self._all_durable: asyncio.Future[Completion] | None = None

    def begin(self, snapshot_id: int) -> asyncio.Future[Completion]:
        """Collect the parts of a snapshot. The answer names them all, or is what made a part fail."""
        self._snapshot_id, self._parts, self._points = snapshot_id, {}, {}
        self._all_durable = asyncio.get_running_loop().create_future()
        return self._all_durable

    def missing(self) -> list[str]:
        """The operators whose part is not durable yet."""
        return [name for name in self._graph.operators if name not in self._parts]

    def completed(self) -> None:
        """The snapshot whose parts were collected is complete: the one before the last is not needed any more."""
        self._newest, self._before = self._points, self._newest

    def safe_replays(self) -> dict[str, ReplayFrom]:
        """The earliest point from which each source can still be asked to replay; it may forget what is before."""
        return replays(self._graph, self._before)

    # What the writers tell

    def oldest_needed(self, operator: str) -> None:
        """A part completes nothing by itself."""

    def durable(self, cut: Cut, part: Part) -> None:
        """A part is in the store."""
        waiting = self._waiting_for(cut)
        if waiting is None:
            return
        self._parts[cut.operator], self._points[cut.operator] = part, Point.of(cut)
        if not self.missing():
            waiting.set_result(Completion(cut.snapshot_id, dict(self._parts)))

    def failed(self, cut: Cut, error: CheckpointError) -> None:
        """A part could not be written, so the snapshot cannot become complete."""
        waiting = self._waiting_for(cut)
        if waiting is not None:
            waiting.set_exception(error)

    def _waiting_for(self, cut: Cut) -> asyncio.Future[Completion] | None:
        waiting = self._all_durable
        is_current = waiting is not None and not waiting.done() and cut.snapshot_id == self._snapshot_id
        return waiting if is_current else None
