"""What runs in one event loop between the outside and the logs is built of this. It knows nothing of what flows.

Operators are joined by edges that are bounded and say what they do when they are full, and are watched while they run;
calls to the outside are retried behind a breaker. The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from holdfast.flow.attempts import Classifier, Discardable, Permanent, Retrying, Transient, Verdict, by_type
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
    "Always",
    "Backpressure",
    "Breaker",
    "BreakerPolicy",
    "BreakerState",
    "Budget",
    "BurstProfile",
    "ByPriority",
    "Channel",
    "Classifier",
    "CreditEdge",
    "Credits",
    "DeadLetters",
    "Decision",
    "Discardable",
    "Dropped",
    "Edge",
    "EdgePlan",
    "EdgeStats",
    "Exit",
    "FlowPolicy",
    "Inlet",
    "Loan",
    "Never",
    "Outlet",
    "Permanent",
    "Permit",
    "Priority",
    "PriorityEdge",
    "RestartPolicy",
    "RetryPolicy",
    "Retrying",
    "Sender",
    "Shed",
    "SystemTimer",
    "Timed",
    "Timer",
    "Transient",
    "Tries",
    "Verdict",
    "by_type",
    "decide",
]

__getattr__ = loaded(__name__, _HOMES)
