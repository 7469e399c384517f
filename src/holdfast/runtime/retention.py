"""What the logs may forget when room is short. Pure: sizes, quotas and the room on the disk are passed in.

What a reader still needs is never forgotten. What is only kept for convenience (input of older batches, rollback
points, delivered batches, `keep`) goes before capture is refused, whether a quota or the disk is what runs out.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from holdfast.log.values import Keep

if TYPE_CHECKING:
    from holdfast.disk.space import DiskSpace


class Pressure(IntEnum):
    """How short room is."""

    NONE = 0
    HIGH = 1
    """Rollback points, input of batches that Spark does not need and delivered batches go."""
    FULL = 2
    """Everything goes that was processed."""


def quota_pressure(used: int, quota: int | None) -> Pressure:
    """How close a log is to its quota."""
    if quota is None or used < quota // 2:
        return Pressure.NONE
    return Pressure.FULL if used >= quota else Pressure.HIGH


def disk_pressure(space: DiskSpace | None) -> Pressure:
    """How close a disk is to where capture stops, which is at its headroom."""
    if space is None or space.free >= 4 * space.headroom:
        return Pressure.NONE
    return Pressure.FULL if space.free < 2 * space.headroom else Pressure.HIGH


def kept_under(by_quota: Pressure, by_disk: Pressure, keep: Keep, quota: int | None) -> Keep:
    """What an inbox keeps although it was processed: less at its quota, nothing on a full disk."""
    if by_disk is Pressure.FULL:
        return Keep()
    if by_quota is not Pressure.FULL or quota is None or keep == Keep():
        return keep
    return Keep(nbytes=quota // 2)
