"""Holdfast moves events to many sinks and proves that nothing is skipped, lost or doubled.

The names that a pipeline is written with. They are loaded when they are first used, so importing a part of Holdfast
loads no more than that part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.capture import Generator, Pace
    from holdfast.deliver import SinkSpec
    from holdfast.ledger import All, Quorum, Required
    from holdfast.model import HoldfastError
    from holdfast.process import filter_rows, flatten, python, route, sql
    from holdfast.runtime import (
        Accept,
        BatchLimits,
        Budget,
        Pipeline,
        PipelineStatus,
        Quotas,
        SparkSettings,
        State,
        Takeover,
        Until,
    )
    from holdfast.sinks import Files, Format, Postgres, Sqlite, Upsert

_HOMES = {
    "holdfast.capture": ("Generator", "Pace"),
    "holdfast.deliver": ("SinkSpec",),
    "holdfast.ledger": ("All", "Quorum", "Required"),
    "holdfast.model": ("HoldfastError",),
    "holdfast.process": ("filter_rows", "flatten", "python", "route", "sql"),
    "holdfast.runtime": (
        "Accept",
        "BatchLimits",
        "Budget",
        "Pipeline",
        "PipelineStatus",
        "Quotas",
        "SparkSettings",
        "State",
        "Takeover",
        "Until",
    ),
    "holdfast.sinks": ("Files", "Format", "Postgres", "Sqlite", "Upsert"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Accept",
    "All",
    "BatchLimits",
    "Budget",
    "Files",
    "Format",
    "Generator",
    "HoldfastError",
    "Pace",
    "Pipeline",
    "PipelineStatus",
    "Postgres",
    "Quorum",
    "Quotas",
    "Required",
    "SinkSpec",
    "SparkSettings",
    "Sqlite",
    "State",
    "Takeover",
    "Until",
    "Upsert",
    "filter_rows",
    "flatten",
    "python",
    "route",
    "sql",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
