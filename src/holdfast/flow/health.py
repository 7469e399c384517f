"""What a running graph says about itself: plain values for a health page and a metrics page. Serves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.flow.exits import Exit

if TYPE_CHECKING:
    from holdfast.flow.ports import EdgeStats
    from holdfast.flow.shape import Role


class OperatorState(Enum):
    """Whether an operator runs."""

    WAITING = "not started"
    RUNNING = "running"
    ENDED = "ended as it should"
    FAILED = "ended though it should run"


@dataclass(frozen=True, slots=True)
class OperatorHealth:
    """One operator at one moment."""

    operator: str
    role: Role
    state: OperatorState
    restarts: int
    uptime: float
    """Seconds since it was started last; 0 when it does not run."""
    exit: Exit | None = None
    error: str = ""
    """What it failed with last."""


@dataclass(frozen=True, slots=True)
class GraphHealth:
    """A graph at one moment."""

    graph: str
    operators: tuple[OperatorHealth, ...]

    @property
    def is_healthy(self) -> bool:
        """Whether nothing ended that should run."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """What ended though it should run."""
        return tuple(one.operator for one in self.operators if one.state is OperatorState.FAILED)


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure under its name and labels."""

    name: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


def metrics_of(health: GraphHealth, edges: tuple[EdgeStats, ...]) -> tuple[Metric, ...]:
    """The figures of a graph."""
    figures = [figure for operator in health.operators for figure in _of_operator(operator)]
    return (*figures, *(figure for edge in edges for figure in _of_edge(edge)))


def _of_operator(operator: OperatorHealth) -> tuple[Metric, ...]:
    labels = {"operator": operator.operator}
    return (
        Metric("operator_restart_total", operator.restarts, labels),
        Metric("operator_uptime_seconds", operator.uptime, labels),
    )


def _of_edge(edge: EdgeStats) -> tuple[Metric, ...]:
    labels = {"edge": edge.edge}
    drops = [
        Metric(
            "flow_policy_drops_total",
            drop.items,
            {**labels, "policy": drop.policy, "priority": drop.priority.value if drop.priority else "none"},
        )
        for drop in edge.drops
    ]
    return (
        Metric("channel_occupancy", edge.occupancy, labels),
        Metric("channel_capacity", edge.capacity, labels),
        Metric("channel_high_water", edge.high_water, labels),
        Metric("channel_items_total", edge.accepted, labels),
        *drops,
    )
