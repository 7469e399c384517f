"""Entries of dead letters: what they say, and that the row in them can be read back."""

from __future__ import annotations

import google_crc32c
import pyarrow as pa
import pytest
from tests.support.deliver_world import MemoryDeadLetters

from holdfast.deliver.classify import Reason
from holdfast.deliver.deadletters import LaneDeadLetters
from holdfast.deliver.rows import parcel_of
from holdfast.log import DeadLetterEntry, entry_id
from holdfast.testing import ManualClock

WHY = Reason("Rejected", "HF-404", "The amount is no number.")


@pytest.fixture
def log() -> MemoryDeadLetters:
    return MemoryDeadLetters()


@pytest.fixture
def lane(log: MemoryDeadLetters) -> LaneDeadLetters:
    return LaneDeadLetters(log, pipeline="shop", lane="archive", clock=ManualClock())


def entry_of(lane: LaneDeadLetters, log: MemoryDeadLetters, table: pa.Table, ordinal: int) -> DeadLetterEntry:
    rows = parcel_of(table, only=None).only({ordinal})
    lane.record(7, rows, {ordinal: WHY}, attempts=3)
    (entry,) = log.recorded.values()
    return entry


def test_an_entry_says_what_where_and_why(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    table = pa.table({"id": [1, 2], "position": ["0/1", "0/2"], "schema_version": pa.array([4, 5], pa.int32())})
    entry = entry_of(lane, log, table, 1)
    assert entry.entry_id == entry_id("sink:archive", 7, 1)
    assert (entry.pipeline, entry.stage, entry.oseq, entry.ordinal) == ("shop", "sink:archive", 7, 1)
    assert (entry.error_kind, entry.error_code, entry.message) == (WHY.kind, WHY.code, WHY.message)
    assert (entry.attempts, entry.position, entry.event_schema_version) == (3, "0/2", 5)
    assert entry.time == ManualClock().now()


def test_the_row_is_in_it_with_its_types(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    table = pa.table({"amount": pa.array([1, 2], pa.decimal128(10, 2)), "payload": pa.array([b"\x00", None])})
    entry = entry_of(lane, log, table, 0)
    assert pa.ipc.open_stream(entry.payload).read_all().equals(table.slice(0, 1))
    assert entry.checksum == google_crc32c.value(entry.payload)


def test_a_row_that_knows_no_position_has_none(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    entry = entry_of(lane, log, pa.table({"id": [1]}), 0)
    assert (entry.position, entry.event_schema_version) == (None, None)


def test_recording_a_rejection_twice_changes_nothing(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    rows = parcel_of(pa.table({"id": [1, 2]}), only=None)
    for _ in range(2):
        lane.record(7, rows, {0: WHY, 1: WHY}, attempts=1)
    assert lane.rejected(7) == {0, 1}
    assert len(log.recorded) == 2


def test_the_rejections_of_another_lane_or_batch_are_not_ours(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    rows = parcel_of(pa.table({"id": [1]}), only=None)
    LaneDeadLetters(log, pipeline="shop", lane="other", clock=ManualClock()).record(7, rows, {0: WHY}, attempts=1)
    lane.record(8, rows, {0: WHY}, attempts=1)
    assert lane.rejected(7) == frozenset()


@pytest.mark.req("X20")
def test_a_large_batch_is_recorded_a_little_at_a_time(lane: LaneDeadLetters, log: MemoryDeadLetters) -> None:
    sizes: list[int] = []
    put = log.put

    def measuring(entries: list[DeadLetterEntry]) -> int:
        sizes.append(len(entries))
        return put(entries)

    log.put = measuring  # type: ignore[method-assign, assignment]
    rows = parcel_of(pa.table({"id": list(range(1200))}), only=None)
    lane.record(7, rows, dict.fromkeys(range(1200), WHY), attempts=1)
    assert sum(sizes) == 1200
    assert max(sizes) <= 500
