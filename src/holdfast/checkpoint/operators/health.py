"""What an operator says about its checkpoints: plain values for health pages and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """Whether an operator can be relied on to restart from where it is."""

    HEALTHY = "healthy"
    DEGRADED = "degraded"
    """It works, but the last write of a checkpoint did not succeed: a restart would repeat more."""
    FAILED = "failed"
    """It has stopped and must be restarted from its checkpoint."""


@dataclass(frozen=True, slots=True)
class OperatorHealth:
    """One operator at one moment."""

    operator: str
    status: Status
    error: str | None
    """What went wrong last, while it is still wrong."""
    checkpoint_age: float | None
    """Seconds since the newest durable checkpoint was taken; None when this run has none yet."""
    checkpoint_size: int
    """Bytes of state in it."""
    snapshots_written: int
    snapshots_skipped: int
    """Due while the one before was still being written."""
    snapshots_failed: int
    duplicates: int
    """Repeated items that were dropped."""
    too_late: int
    """Items dropped because their place in the dedup window was given up."""
