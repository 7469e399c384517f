"""A pipeline at work: Spark, the threads around it, its life, and the Python face."""

from __future__ import annotations

from holdfast.runtime.engine import Engine
from holdfast.runtime.ground import Accept
from holdfast.runtime.lifecycle import State
from holdfast.runtime.owner import Takeover
from holdfast.runtime.pipeline import Pipeline, Until
from holdfast.runtime.plan import BatchLimits, Plan, Quotas
from holdfast.runtime.restarts import Budget
from holdfast.runtime.session import SparkSettings
from holdfast.runtime.status import PipelineStatus

__all__ = [
    "Accept",
    "BatchLimits",
    "Budget",
    "Engine",
    "Pipeline",
    "PipelineStatus",
    "Plan",
    "Quotas",
    "SparkSettings",
    "State",
    "Takeover",
    "Until",
]
