"""Holdfast moves events to many sinks and proves that nothing is skipped, lost or doubled.

The names that a pipeline is written with. They are loaded when they are first used, so importing a part of Holdfast
loads no more than that part.
"""

from __future__ import annotations

from holdfast.model.lazily import loaded

TYPE_CHECKING = False
"""In place of `typing`'s own: loading `typing` takes longer than everything else that is loaded here."""

if TYPE_CHECKING:
    from holdfast.capture import Follow, Generator, HttpPush, LogFiles, Pace, Relay, Stdin
    from holdfast.deliver import SinkSpec
    from holdfast.flow.exits import Budget
    from holdfast.ledger import All, Quorum, Required
    from holdfast.log import DeadLetterLimits, Keep, Overflow
    from holdfast.model import Encoding, HoldfastError
    from holdfast.process import (
        batches,
        filter_rows,
        flatten,
        parse_json,
        parse_logfmt,
        parse_regex,
        parse_text,
        python,
        route,
        rows,
        sql,
    )
    from holdfast.runtime.ground import Accept
    from holdfast.runtime.isolation import IsolationLimits
    from holdfast.runtime.lifecycle import State
    from holdfast.runtime.owner import Takeover
    from holdfast.runtime.pipeline import Pipeline, Until
    from holdfast.runtime.plan import BatchLimits, Checkpointing, Quotas
    from holdfast.runtime.session import SparkSettings
    from holdfast.runtime.status import PipelineStatus
    from holdfast.sinks import Console, ConsoleForm, Files, Format, Http, HttpBody, Postgres, Sqlite, Upsert

_HOMES = {
    "holdfast.capture": ("Follow", "Generator", "HttpPush", "LogFiles", "Pace", "Relay", "Stdin"),
    "holdfast.deliver": ("SinkSpec",),
    "holdfast.ledger": ("All", "Quorum", "Required"),
    "holdfast.log": ("DeadLetterLimits", "Keep", "Overflow"),
    "holdfast.model": ("Encoding", "HoldfastError"),
    "holdfast.process": (
        "batches",
        "filter_rows",
        "flatten",
        "parse_json",
        "parse_logfmt",
        "parse_regex",
        "parse_text",
        "python",
        "route",
        "rows",
        "sql",
    ),
    "holdfast.runtime.ground": ("Accept",),
    "holdfast.runtime.isolation": ("IsolationLimits",),
    "holdfast.runtime.lifecycle": ("State",),
    "holdfast.runtime.owner": ("Takeover",),
    "holdfast.runtime.pipeline": ("Pipeline", "Until"),
    "holdfast.runtime.plan": ("BatchLimits", "Checkpointing", "Quotas"),
    "holdfast.flow.exits": ("Budget",),
    "holdfast.runtime.session": ("SparkSettings",),
    "holdfast.runtime.status": ("PipelineStatus",),
    "holdfast.sinks": (
        "Console",
        "ConsoleForm",
        "Files",
        "Format",
        "Http",
        "HttpBody",
        "Postgres",
        "Sqlite",
        "Upsert",
    ),
}

__all__ = [
    "Accept",
    "All",
    "BatchLimits",
    "Budget",
    "Checkpointing",
    "Console",
    "ConsoleForm",
    "DeadLetterLimits",
    "Encoding",
    "Files",
    "Follow",
    "Format",
    "Generator",
    "HoldfastError",
    "Http",
    "HttpBody",
    "HttpPush",
    "IsolationLimits",
    "Keep",
    "LogFiles",
    "Overflow",
    "Pace",
    "Pipeline",
    "PipelineStatus",
    "Postgres",
    "Quorum",
    "Quotas",
    "Relay",
    "Required",
    "SinkSpec",
    "SparkSettings",
    "Sqlite",
    "State",
    "Stdin",
    "Takeover",
    "Until",
    "Upsert",
    "batches",
    "filter_rows",
    "flatten",
    "parse_json",
    "parse_logfmt",
    "parse_regex",
    "parse_text",
    "python",
    "route",
    "rows",
    "sql",
]

__getattr__ = loaded(__name__, _HOMES)
