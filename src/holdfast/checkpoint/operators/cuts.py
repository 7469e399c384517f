"""Which snapshots of several operators go together, and from where the sources must replay. Pure.

Each operator saves on its own cadence, so after a crash the operators stand at different points. An operator may stand
*behind* what its downstream has applied: it repeats outputs, and they are dropped there. It must never stand *ahead*:
the outputs between would never come again. So the choice goes from the last operators upstream, and each takes its
newest snapshot that has emitted no more than every operator behind it has applied. A choice made later is never older,
which is what makes everything older than it safe to forget.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from holdfast.checkpoint.operators.graph import Graph
    from holdfast.checkpoint.operators.items import Offset
    from holdfast.checkpoint.operators.snapshot import Cut


@dataclass(frozen=True, slots=True)
class ReplayFrom:
    """Where a source starts: behind an offset, with the next number to give."""

    after: Offset | None = None
    next_seq: int = 1


@dataclass(frozen=True, slots=True)
class Point:
    """A stored snapshot without its state: which one, what it had applied and how much it had emitted."""

    snapshot_id: int
    inputs: Mapping[str, ReplayFrom]
    emitted: int

    @classmethod
    def of(cls, cut: Cut) -> Point:
        """The point of a cut."""
        inputs = {name: ReplayFrom(at.offset, at.applied + 1) for name, at in cut.inputs.items()}
        return cls(cut.snapshot_id, inputs, cut.emitted)

    def input(self, name: str) -> ReplayFrom:
        """How far an input was applied."""
        return self.inputs.get(name, ReplayFrom())


FRESH = Point(0, {}, 0)
"""No snapshot: an operator as it was made."""


def allowance(graph: Graph, operator: str, chosen: Mapping[str, Point]) -> int | None:
    """How many outputs the operator may have emitted, given the points downstream; None when nobody is downstream."""
    applied = [chosen[link.downstream].input(link.name).next_seq - 1 for link in graph.out_of(operator)]
    return min(applied, default=None)


def is_reachable(point: Point, allowed: int | None) -> bool:
    """Whether an operator may start from the point."""
    return allowed is None or point.emitted <= allowed


def choose(graph: Graph, newest_first: Mapping[str, Iterable[Point]], *, spare: int = 0) -> dict[str, Point]:
    """The point each operator starts from; `FRESH` when none of those given can be.

    :param spare: leave out so many good points of each operator, to learn what must be kept when they turn out damaged.
    """
    chosen: dict[str, Point] = {}
    for operator in reversed(graph.operators):
        allowed = allowance(graph, operator, chosen)
        good = (point for point in newest_first.get(operator, ()) if is_reachable(point, allowed))
        chosen[operator] = next(islice(good, spare, None), FRESH)
    return chosen


def replays(graph: Graph, chosen: Mapping[str, Point]) -> dict[str, ReplayFrom]:
    """Where each source must start, so that every operator it feeds gets what it has not applied."""
    return {
        source: min(
            (chosen[link.downstream].input(link.name) for link in graph.out_of(source)), key=lambda at: at.next_seq
        )
        for source in graph.sources
    }
