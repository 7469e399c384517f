"""What may be forgotten when a quota or the disk is short."""

from __future__ import annotations

import pytest

from holdfast.disk.space import DiskSpace
from holdfast.log import Keep
from holdfast.log.retention import roll_size
from holdfast.runtime.retention import Pressure, disk_pressure, kept_under, quota_pressure

MIB = 2**20


@pytest.mark.parametrize(
    ("used", "quota", "expected"),
    [
        (10**12, None, Pressure.NONE),
        (49, 100, Pressure.NONE),
        (50, 100, Pressure.HIGH),
        (99, 100, Pressure.HIGH),
        (100, 100, Pressure.FULL),
    ],
)
def test_a_quota_is_felt_from_half_of_it_on(used: int, quota: int | None, expected: Pressure) -> None:
    assert quota_pressure(used, quota) is expected


@pytest.mark.parametrize(
    ("free", "total", "expected"),
    [
        (64 * MIB, 10**12, Pressure.NONE),
        (64 * MIB - 1, 10**12, Pressure.HIGH),
        (32 * MIB, 10**12, Pressure.HIGH),
        (32 * MIB - 1, 10**12, Pressure.FULL),
        (0, 10**12, Pressure.FULL),
        (16 * MIB, 64 * MIB, Pressure.NONE),
        (8 * MIB - 1, 64 * MIB, Pressure.FULL),
    ],
)
def test_a_disk_is_felt_before_capture_is_refused(free: int, total: int, expected: Pressure) -> None:
    space = DiskSpace(free, total)
    assert disk_pressure(space) is expected
    assert expected is Pressure.FULL or space.has_room_for(1)


def test_a_disk_of_which_nothing_is_known_is_not_short() -> None:
    assert disk_pressure(None) is Pressure.NONE


def test_what_is_to_be_kept_gives_way_to_a_full_disk_wholly_and_to_a_quota_by_half() -> None:
    keep, quota = Keep(nbytes=80), 100
    assert kept_under(Pressure.HIGH, Pressure.HIGH, keep, quota) == keep
    assert kept_under(Pressure.FULL, Pressure.NONE, keep, quota) == Keep(nbytes=50)
    assert kept_under(Pressure.NONE, Pressure.FULL, keep, quota) == Keep()
    assert kept_under(Pressure.FULL, Pressure.NONE, Keep(), quota) == Keep()


def test_a_segment_is_a_small_part_of_the_quota() -> None:
    assert [roll_size(quota) for quota in (None, 24 * MIB, 4096 * MIB, 1)] == [16 * MIB, 3 * MIB, 16 * MIB, 1]
