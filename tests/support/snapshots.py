"""Pictures of a pipeline that is well, to be changed by tests."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.control.latency import Latency
from holdfast.control.snapshot import (
    CheckpointView,
    DeadLettersView,
    LaneView,
    OutboxView,
    Snapshot,
    SourceView,
    SparkView,
)

START = datetime(2026, 1, 1, tzinfo=UTC)

SOURCE = SourceView("orders", "reading", 10, 10, 0, 0.0, 100, 1000, "10", None)
LANE = LaneView(
    "table", "sqlite", "exactly-once", True, "running", 5, 0, 0, 0.0, 0, 0, 0, 10, 0, 0, 0, "closed", Latency(), None
)
WELL = Snapshot(
    pipeline="orders",
    state="running",
    pid=1,
    at=START,
    error=None,
    trouble=None,
    sources=(SOURCE,),
    spark=SparkView(active=True, batch_id=4, restarts=0, replays=0),
    outbox=OutboxView(newest=5, committed=5, nbytes=100, quota=1000),
    lanes=(LANE,),
    checkpoint=CheckpointView(version=9, age=0.1, nbytes=160, is_durable=True),
    dead_letters=DeadLettersView(kept=0, new=0, arrived=0, most=1000, overflow="block"),
    disk_free=1 << 40,
)


def at(seconds: float, **changes: Any) -> Snapshot:
    """The pipeline so many seconds after the start; what is well is left out."""
    return replace(WELL, at=START + timedelta(seconds=seconds), **changes)


def dead(arrived: int, new: int = 0, overflow: str = "block") -> DeadLettersView:
    return DeadLettersView(kept=new, new=new, arrived=arrived, most=1000, overflow=overflow)


def source(**changes: Any) -> tuple[SourceView, ...]:
    return (replace(SOURCE, **changes),)


def lane(**changes: Any) -> tuple[LaneView, ...]:
    return (replace(LANE, **changes),)
