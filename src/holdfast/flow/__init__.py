"""What runs in one event loop between the outside and the logs is built of this. It knows nothing of what flows.

Edges are bounded and do what their policy says when they are full; calls to the outside are retried behind a breaker.
"""

from __future__ import annotations

from holdfast.flow.attempts import Classifier, Discardable, Permanent, Retrying, Transient, Verdict, by_type
from holdfast.flow.breaker import SERVICE, Breaker, BreakerPolicy, BreakerState, Permit
from holdfast.flow.channel import Channel
from holdfast.flow.credits import CreditEdge, Loan, Sender
from holdfast.flow.edge import Edge
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

__all__ = [
    "FROM_SOURCE",
    "SERVICE",
    "TO_DEADLINE",
    "TO_EXPORT",
    "TO_STATE",
    "Backpressure",
    "Breaker",
    "BreakerPolicy",
    "BreakerState",
    "BurstProfile",
    "ByPriority",
    "Channel",
    "Classifier",
    "CreditEdge",
    "Credits",
    "DeadLetters",
    "Discardable",
    "Dropped",
    "Edge",
    "EdgePlan",
    "EdgeStats",
    "FlowPolicy",
    "Inlet",
    "Loan",
    "Outlet",
    "Permanent",
    "Permit",
    "Priority",
    "PriorityEdge",
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
]
