"""Makes the edges of a graph from what is declared of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from holdfast.flow.credits import CreditEdge
from holdfast.flow.edge import Edge
from holdfast.flow.policy import ByPriority, Credits
from holdfast.flow.priority import PriorityEdge

if TYPE_CHECKING:
    from holdfast.flow.channel import Channel
    from holdfast.flow.ports import DeadLetters
    from holdfast.flow.shape import Declared, EdgeSpec


def channels_of(declared: Declared) -> dict[str, Channel[Any]]:
    """Every edge by its name. The graph is a valid one."""
    return {edge.name: _channel(declared, edge) for edge in declared.edges}


def _channel(declared: Declared, edge: EdgeSpec) -> Channel[Any]:
    capacity, policy = edge.plan.capacity, edge.plan.policy
    assert policy is not None, "a graph with such an edge is refused"
    if edge.channel is not None:
        return edge.channel
    match policy:
        case ByPriority():
            return PriorityEdge(edge.name, capacity, policy)
        case Credits():
            return CreditEdge(edge.name, capacity, policy)
        case _:
            dead_letters = cast("DeadLetters[Any] | None", declared.vertex(edge.upstream).supervision.dead_letters)
            return Edge(edge.name, capacity, policy, dead_letters=dead_letters)


def describe(edge: EdgeSpec) -> dict[str, object]:
    """What the log says about an edge at the start."""
    plan = edge.plan
    return {
        "edge": edge.name,
        "buffer_size": plan.capacity,
        "profile": None if plan.profile is None else asdict(plan.profile),
        "policy": None if plan.policy is None else plan.policy.name,
        "reason": None if plan.policy is None else plan.policy.reason,
    }
