"""Keeps the books of aligned snapshots: which parts are durable, and which versions complete snapshots still name."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from holdfast.checkpoint.operators.cuts import FRESH, Point, replays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.snapshot import Cut
    from holdfast.model.errors import CheckpointError


class PartsKept:
    """Collects the parts of one snapshot at a time. Parts of any other are of no interest when they arrive."""

    KEPT = 2
    """So many complete snapshots are kept, in case a part of the newest turns out damaged."""

    def __init__(self, graph: Graph, recovered: Mapping[str, Point] | None) -> None:
        self._graph = graph
        self._newest_first = [recovered] if recovered else []
        self._snapshot_id = 0
        self._parts: dict[str, Point] = {}
        self._all_durable: asyncio.Future[dict[str, Point]] | None = None

    def begin(self, snapshot_id: int) -> asyncio.Future[dict[str, Point]]:
        """Collect the parts of a snapshot. The answer is each operator's point, or what made a part fail."""
        self._snapshot_id, self._parts = snapshot_id, {}
        self._all_durable = asyncio.get_running_loop().create_future()
        return self._all_durable

    def missing(self) -> list[str]:
        """The operators whose part is not durable yet."""
        return [name for name in self._graph.operators if name not in self._parts]

    def completed(self, parts: Mapping[str, Point]) -> None:
        """A snapshot is complete: older ones beyond those kept are not needed any more."""
        self._newest_first = [parts, *self._newest_first][: self.KEPT]

    def safe_replays(self) -> dict[str, ReplayFrom]:
        """The earliest point from which each source can still be asked to replay; it may forget what is before."""
        return replays(self._graph, self._needed())

    # What the writers tell

    def durable(self, cut: Cut, version: int) -> None:
        """A part is in the store."""
        waiting = self._waiting_for(cut)
        if waiting is None:
            return
        self._parts[cut.operator] = Point.of(cut, version)
        if not self.missing():
            waiting.set_result(dict(self._parts))

    def failed(self, cut: Cut, error: CheckpointError) -> None:
        """A part could not be written, so the snapshot cannot become complete."""
        waiting = self._waiting_for(cut)
        if waiting is not None:
            waiting.set_exception(error)

    def oldest_needed(self, operator: str) -> int:
        """The version that the oldest complete snapshot kept names; 0 while there are fewer than are to be kept."""
        return self._needed()[operator].version

    def _needed(self) -> Mapping[str, Point]:
        fresh = dict.fromkeys(self._graph.operators, FRESH)
        return fresh if len(self._newest_first) < self.KEPT else self._newest_first[-1]

    def _waiting_for(self, cut: Cut) -> asyncio.Future[dict[str, Point]] | None:
        waiting = self._all_durable
        is_current = waiting is not None and not waiting.done() and cut.snapshot_id == self._snapshot_id
        return waiting if is_current else None
