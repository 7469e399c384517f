"""A part is what was written to it, or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.log import part_name, read_part, write_part
from holdfast.model.errors import InvalidAppend, LogDamaged, LogFull, LogMissing, LogReadOnly
from holdfast.model.steps import Step
from tests.support.mounts import read_only, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = pa.schema([("seq", pa.int64()), ("text", pa.string()), ("many", pa.list_(pa.int32()))])


def batch(start: int, rows: int = 1000) -> pa.RecordBatch:
    numbers = list(range(start, start + rows))
    columns = [numbers, [f"row {number}" for number in numbers], [[number, 1] for number in numbers]]
    return pa.record_batch(columns, schema=SCHEMA)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    batches = [batch(0), batch(1000), batch(2000, rows=0), batch(2000)]
    part = write_part(tmp_path, "part", iter(batches), SCHEMA)
    assert read_part(tmp_path, part).equals(pa.Table.from_batches(batches))
    assert (part.rows, part.length) == (3000, (tmp_path / "part").stat().st_size)
    assert part.nbytes == sum(one.nbytes for one in batches)


def test_a_part_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    part = write_part(tmp_path, "part", [], SCHEMA)
    assert (part.rows, read_part(tmp_path, part).schema) == (0, SCHEMA)


def test_the_steps_are_told_in_order(tmp_path: Path) -> None:
    steps: list[str] = []
    write_part(tmp_path, "part", [batch(0)], SCHEMA, hook=steps.append)
    assert steps == [Step.PART_WRITE, Step.PART_FSYNC, Step.PART_WRITTEN]


def test_a_name_is_never_written_twice(tmp_path: Path) -> None:
    part = write_part(tmp_path, "part", [batch(0)], SCHEMA)
    with pytest.raises(InvalidAppend):
        write_part(tmp_path, "part", [batch(7)], SCHEMA)
    assert read_part(tmp_path, part)["seq"][0].as_py() == 0


def test_every_attempt_has_a_name_of_its_own() -> None:
    names = {
        part_name(epoch=1, generation=2, batch_id=3, partition=partition, attempt=attempt)
        for partition in range(3)
        for attempt in range(3)
    }
    assert len(names) == 9


def test_a_flipped_byte_is_damage(tmp_path: Path) -> None:
    part = write_part(tmp_path, "part", [batch(0)], SCHEMA)
    data = bytearray((tmp_path / "part").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "part").write_bytes(data)
    with pytest.raises(LogDamaged, match="part is damaged at offset 0"):
        read_part(tmp_path, part)


def test_a_part_cut_short_is_damage(tmp_path: Path) -> None:
    part = write_part(tmp_path, "part", [batch(0)], SCHEMA)
    (tmp_path / "part").write_bytes((tmp_path / "part").read_bytes()[:-1])
    with pytest.raises(LogDamaged):
        read_part(tmp_path, part)


def test_a_part_that_is_gone_is_missing(tmp_path: Path) -> None:
    part = write_part(tmp_path, "part", [batch(0)], SCHEMA)
    (tmp_path / "part").unlink()
    with pytest.raises(LogMissing):
        read_part(tmp_path, part)


def test_a_step_that_fails_while_rows_come_leaves_its_own_error(tmp_path: Path) -> None:
    def rows() -> Iterator[pa.RecordBatch]:
        yield batch(0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_part(tmp_path, "part", rows(), SCHEMA)


def test_a_full_disk_leaves_no_part(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        with pytest.raises(LogFull):
            write_part(disk, "part", (batch(number * 1000) for number in range(1000)), SCHEMA)
        assert list(disk.iterdir()) == []


def test_a_read_only_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    with read_only(tmp_path / "parts"), pytest.raises(LogReadOnly):
        write_part(tmp_path / "parts", "part", [batch(0)], SCHEMA)
