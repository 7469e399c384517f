"""Operators that can be restarted: state and offsets saved together, by barriers or each on its own cadence."""

from holdfast.checkpoint.operators.completion import Completion, CompletionCodec, FlowKeys
from holdfast.checkpoint.operators.coordinator import BarrierCoordinator
from holdfast.checkpoint.operators.credits import Edge
from holdfast.checkpoint.operators.cuts import FRESH, Point, ReplayFrom
from holdfast.checkpoint.operators.dedup import DedupLimits, InputCut, InputWindow, SparseEntry, Verdict
from holdfast.checkpoint.operators.feed import SourceFeed
from holdfast.checkpoint.operators.flow import Flow, FlowSettings
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.graph import Graph, Link
from holdfast.checkpoint.operators.health import OperatorHealth, Status
from holdfast.checkpoint.operators.histogram import DurationHistogram
from holdfast.checkpoint.operators.items import Barrier, Buffer, End, HearsOfCompletion, Item, Offset, Operator, Source
from holdfast.checkpoint.operators.operator import CheckpointedOperator
from holdfast.checkpoint.operators.recovery import Recovery, recover
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot, SnapshotMode
from holdfast.checkpoint.operators.timer import SystemTimer, Timer
from holdfast.checkpoint.operators.writer import Offload, SnapshotListener, SnapshotWriter, StepHook

__all__ = [
    "FRESH",
    "Barrier",
    "BarrierCoordinator",
    "Buffer",
    "CheckpointedOperator",
    "Completion",
    "CompletionCodec",
    "Cut",
    "DedupLimits",
    "DurationHistogram",
    "Edge",
    "End",
    "Flow",
    "FlowKeys",
    "FlowSettings",
    "Graph",
    "HearsOfCompletion",
    "InputCut",
    "InputWindow",
    "Item",
    "Link",
    "Offload",
    "Offset",
    "Operator",
    "OperatorHealth",
    "OperatorSnapshot",
    "Point",
    "Recovery",
    "ReplayFrom",
    "SnapshotCodec",
    "SnapshotListener",
    "SnapshotMode",
    "SnapshotWriter",
    "Source",
    "SourceFeed",
    "SparseEntry",
    "Status",
    "StepHook",
    "SystemTimer",
    "Timer",
    "Verdict",
    "recover",
]
