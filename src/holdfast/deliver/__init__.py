"""Carries batches from the outbox to sinks: a lane for each, with retries, a breaker, bisection and dead letters."""

from __future__ import annotations

from holdfast.deliver.clock import Clock, SystemClock
from holdfast.deliver.contract import GoingBack, LaneIdentity, Ordering, Sink, SinkBatch, Tier
from holdfast.deliver.core import DeliveryPhase
from holdfast.deliver.delivery import Delivery
from holdfast.deliver.rows import PoisonUnit
from holdfast.deliver.spec import DeliverySettings, OnExhausted, OnQuota, SinkSpec
from holdfast.deliver.status import DeliveryStatus, LaneState, LaneStatus
from holdfast.flow.breaker import BreakerPolicy, BreakerState
from holdfast.flow.retry import RetryPolicy

__all__ = [
    "BreakerPolicy",
    "BreakerState",
    "Clock",
    "Delivery",
    "DeliveryPhase",
    "DeliverySettings",
    "DeliveryStatus",
    "GoingBack",
    "LaneIdentity",
    "LaneState",
    "LaneStatus",
    "OnExhausted",
    "OnQuota",
    "Ordering",
    "PoisonUnit",
    "RetryPolicy",
    "Sink",
    "SinkBatch",
    "SinkSpec",
    "SystemClock",
    "Tier",
]
