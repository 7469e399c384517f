"""What an asyncio edge is built of: retries and breakers. Knows nothing of what flows."""

from __future__ import annotations

from holdfast.flow.attempts import Classifier, Discardable, Permanent, Retrying, Transient, Verdict, by_type
from holdfast.flow.breaker import SERVICE, Breaker, BreakerPolicy, BreakerState, Permit
from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.flow.timer import SystemTimer, Timer

__all__ = [
    "SERVICE",
    "Breaker",
    "BreakerPolicy",
    "BreakerState",
    "Classifier",
    "Discardable",
    "Permanent",
    "Permit",
    "RetryPolicy",
    "Retrying",
    "SystemTimer",
    "Timer",
    "Transient",
    "Tries",
    "Verdict",
    "by_type",
]
