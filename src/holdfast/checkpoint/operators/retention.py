"""Keeps the books of snapshots that operators take for themselves: which of them a recovery may still need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checkpoint.operators.cuts import FRESH, Point, choose, replays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.operators.cuts import ReplayFrom
    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.history import Part
    from holdfast.checkpoint.operators.snapshot import Cut
    from holdfast.model.errors import CheckpointError


class PointsKept:
    """The durable points of all operators of a flow in per-operator mode.

    What one damaged snapshot of each operator would make a recovery need is kept too.
    """

    SPARE = 1

    def __init__(self, graph: Graph, recovered: Mapping[str, Point]) -> None:
        self._graph = graph
        self._newest_first = {name: [point] for name, point in recovered.items() if point is not FRESH}

    def safe_replays(self) -> dict[str, ReplayFrom]:
        """The earliest point from which each source can still be asked to replay; it may forget what is before."""
        return replays(self._graph, self._needed())

    # What the writers ask and tell

    def oldest_needed(self, operator: str) -> int:
        """The oldest snapshot of the operator that a recovery may ask for; 0 keeps all."""
        return self._needed()[operator].snapshot_id

    def durable(self, cut: Cut, part: Part) -> None:
        """A snapshot is in the store."""
        self._newest_first.setdefault(cut.operator, []).insert(0, Point.of(cut))
        for operator, point in self._needed().items():
            known = self._newest_first.get(operator, [])
            self._newest_first[operator] = [other for other in known if other.snapshot_id >= point.snapshot_id]

    def failed(self, cut: Cut, error: CheckpointError) -> None:
        """A snapshot was not written; the operator reports it, and the older ones stay needed."""

    def _needed(self) -> dict[str, Point]:
        return choose(self._graph, self._newest_first, spare=self.SPARE)
