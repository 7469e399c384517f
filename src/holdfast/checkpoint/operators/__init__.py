"""Operators that can be restarted: state and offsets saved together, by barriers or each on its own cadence."""

from holdfast.checkpoint.operators.cuts import FRESH, ReplayFrom
from holdfast.checkpoint.operators.dedup import DedupLimits
from holdfast.checkpoint.operators.flow import Flow, FlowSettings
from holdfast.checkpoint.operators.graph import Graph, Link
from holdfast.checkpoint.operators.health import Status
from holdfast.checkpoint.operators.items import Buffer, HearsOfCompletion, Item, Offset, Operator, Source
from holdfast.checkpoint.operators.keeping import Keepable, StateKeeper
from holdfast.checkpoint.operators.recovery import Recovery
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.flow.timer import Timer

__all__ = [
    "FRESH",
    "Buffer",
    "DedupLimits",
    "Flow",
    "FlowSettings",
    "Graph",
    "HearsOfCompletion",
    "Item",
    "Keepable",
    "Link",
    "Offset",
    "Operator",
    "Recovery",
    "ReplayFrom",
    "SnapshotMode",
    "Source",
    "StateKeeper",
    "Status",
    "Timer",
]
