"""What runs in one event loop between the outside and the logs is built of this. It knows nothing of what flows.

Operators are joined by edges that are bounded and say what they do when they are full, and are watched while they run;
calls to the outside are retried behind a breaker. The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from holdfast.flow.attempts import Classifier, Discardable, Permanent, Retrying, Transient, Verdict, by_type
    from holdfast.flow.auditing import Finding, FindingKind, audit, require_clean, suspicions
    from holdfast.flow.bottleneck import Bottleneck, OccupancySample, find_bottleneck, gradient
    from holdfast.flow.breaker import SERVICE, Breaker, BreakerPolicy, BreakerState, Permit
    from holdfast.flow.channel import Channel
    from holdfast.flow.credits import CreditEdge, Loan, Sender
    from holdfast.flow.edge import Edge
    from holdfast.flow.exits import (
        FOR_SINKS,
        FOR_STATEFUL,
        FOR_STATELESS,
        Always,
        Budget,
        Decision,
        Exit,
        Never,
        RestartPolicy,
        decide,
    )
    from holdfast.flow.graph import OperatorGraph, Sends, Takes, Through
    from holdfast.flow.health import GraphHealth, Metric, OperatorHealth, OperatorState
    from holdfast.flow.outcome import AllOk, BudgetExhausted, Crashed, GraphEvent, Outcome
    from holdfast.flow.policy import (
        FROM_SOURCE,
        TO_DEADLINE,
        TO_EXPORT,
        TO_STATE,
        Backpressure,
        BurstProfile,
        ByPriority,
        Credits,
        EdgePlan,
        FlowPolicy,
        Priority,
        Shed,
        Timed,
    )
    from holdfast.flow.ports import DeadLetters, Dropped, EdgeStats, Inlet, Outlet
    from holdfast.flow.priority import PriorityEdge
    from holdfast.flow.retry import RetryPolicy, Tries
    from holdfast.flow.routing import CopyToAll, merge
    from holdfast.flow.running import BuiltGraph
    from holdfast.flow.sampling import EwmaRate, Sampler
    from holdfast.flow.shape import Declared, EdgeSpec, Loss, Role, Supervision, Vertex
    from holdfast.flow.stop import Stop
    from holdfast.flow.timer import SystemTimer, Timer

_HOMES = {
    "holdfast.flow.attempts": (
        "Classifier",
        "Discardable",
        "Permanent",
        "Retrying",
        "Transient",
        "Verdict",
        "by_type",
    ),
    "holdfast.flow.auditing": (
        "Finding",
        "FindingKind",
        "audit",
        "require_clean",
        "suspicions",
    ),
    "holdfast.flow.bottleneck": (
        "Bottleneck",
        "OccupancySample",
        "find_bottleneck",
        "gradient",
    ),
    "holdfast.flow.breaker": (
        "SERVICE",
        "Breaker",
        "BreakerPolicy",
        "BreakerState",
        "Permit",
    ),
    "holdfast.flow.channel": ("Channel",),
    "holdfast.flow.credits": (
        "CreditEdge",
        "Loan",
        "Sender",
    ),
    "holdfast.flow.edge": ("Edge",),
    "holdfast.flow.exits": (
        "FOR_SINKS",
        "FOR_STATEFUL",
        "FOR_STATELESS",
        "Always",
        "Budget",
        "Decision",
        "Exit",
        "Never",
        "RestartPolicy",
        "decide",
    ),
    "holdfast.flow.graph": (
        "OperatorGraph",
        "Sends",
        "Takes",
        "Through",
    ),
    "holdfast.flow.health": (
        "GraphHealth",
        "Metric",
        "OperatorHealth",
        "OperatorState",
    ),
    "holdfast.flow.outcome": (
        "AllOk",
        "BudgetExhausted",
        "Crashed",
        "GraphEvent",
        "Outcome",
    ),
    "holdfast.flow.policy": (
        "FROM_SOURCE",
        "TO_DEADLINE",
        "TO_EXPORT",
        "TO_STATE",
        "Backpressure",
        "BurstProfile",
        "ByPriority",
        "Credits",
        "EdgePlan",
        "FlowPolicy",
        "Priority",
        "Shed",
        "Timed",
    ),
    "holdfast.flow.ports": (
        "DeadLetters",
        "Dropped",
        "EdgeStats",
        "Inlet",
        "Outlet",
    ),
    "holdfast.flow.priority": ("PriorityEdge",),
    "holdfast.flow.retry": (
        "RetryPolicy",
        "Tries",
    ),
    "holdfast.flow.routing": (
        "CopyToAll",
        "merge",
    ),
    "holdfast.flow.running": ("BuiltGraph",),
    "holdfast.flow.sampling": (
        "EwmaRate",
        "Sampler",
    ),
    "holdfast.flow.shape": (
        "Declared",
        "EdgeSpec",
        "Loss",
        "Role",
        "Supervision",
        "Vertex",
    ),
    "holdfast.flow.stop": ("Stop",),
    "holdfast.flow.timer": (
        "SystemTimer",
        "Timer",
    ),
}

__all__ = [
    "FOR_SINKS",
    "FOR_STATEFUL",
    "FOR_STATELESS",
    "FROM_SOURCE",
    "SERVICE",
    "TO_DEADLINE",
    "TO_EXPORT",
    "TO_STATE",
    "AllOk",
    "Always",
    "Backpressure",
    "Bottleneck",
    "Breaker",
    "BreakerPolicy",
    "BreakerState",
    "Budget",
    "BudgetExhausted",
    "BuiltGraph",
    "BurstProfile",
    "ByPriority",
    "Channel",
    "Classifier",
    "CopyToAll",
    "Crashed",
    "CreditEdge",
    "Credits",
    "DeadLetters",
    "Decision",
    "Declared",
    "Discardable",
    "Dropped",
    "Edge",
    "EdgePlan",
    "EdgeSpec",
    "EdgeStats",
    "EwmaRate",
    "Exit",
    "Finding",
    "FindingKind",
    "FlowPolicy",
    "GraphEvent",
    "GraphHealth",
    "Inlet",
    "Loan",
    "Loss",
    "Metric",
    "Never",
    "OccupancySample",
    "OperatorGraph",
    "OperatorHealth",
    "OperatorState",
    "Outcome",
    "Outlet",
    "Permanent",
    "Permit",
    "Priority",
    "PriorityEdge",
    "RestartPolicy",
    "RetryPolicy",
    "Retrying",
    "Role",
    "Sampler",
    "Sender",
    "Sends",
    "Shed",
    "Stop",
    "Supervision",
    "SystemTimer",
    "Takes",
    "Through",
    "Timed",
    "Timer",
    "Transient",
    "Tries",
    "Verdict",
    "Vertex",
    "audit",
    "by_type",
    "decide",
    "find_bottleneck",
    "gradient",
    "merge",
    "require_clean",
    "suspicions",
]

__getattr__ = loaded(__name__, _HOMES)
