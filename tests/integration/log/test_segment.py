"""Segments: where bytes go, when a file is finished, and what is swept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.log.segment import (
    Piece,
    SegmentWriter,
    decode,
    encode,
    epoch_of,
    next_number,
    read_place,
    sweep,
    verify_present,
)
from holdfast.model.errors import LogDamaged, LogError, LogMissing
from tests.support.log_events import events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def written(writer: SegmentWriter, *pieces: bytes) -> list[tuple[str, int, int]]:
    places = writer.write((pa.py_buffer(piece),) for piece in pieces)
    writer.sync()
    return [(place.file, place.offset, place.length) for place in places]


def test_pieces_lie_one_behind_the_other_in_a_file_named_by_the_epoch(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=3, number=1)
    name = "seg-00000003-000001"
    assert written(writer, b"abc", b"", b"de") == [(name, 0, 3), (name, 3, 0), (name, 3, 2)]
    assert written(writer, b"f") == [(name, 5, 1)]
    assert (tmp_path / name).read_bytes() == b"abcdef"


def test_a_file_that_is_large_enough_is_finished(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=1, number=1, roll_at=6)
    files = [written(writer, b"abc")[0][0] for _ in range(5)]
    assert [epoch_of(file) for file in files] == [1] * 5
    assert [files.index(file) for file in files] == [0, 0, 2, 2, 4]


def test_an_append_that_is_larger_than_a_file_goes_on_in_the_next_one(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=1, number=1, roll_at=6)
    written(writer, b"abcd")
    places = written(writer, b"ef", b"ghij", b"kl", b"longer than a file", b"m")
    files = sorted(tmp_path.iterdir())
    assert [file.read_bytes() for file in files] == [b"abcdef", b"ghijkl", b"longer than a file", b"m"]
    assert [places[0], places[-1]] == [(files[0].name, 4, 2), (files[3].name, 0, 1)]


def test_an_append_over_several_files_is_taken_back_from_all_of_them(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=1, number=1, roll_at=6)
    written(writer, b"kept")
    written(writer, b"12", b"3456", b"789")
    writer.take_back()
    assert [file.read_bytes() for file in sorted(tmp_path.iterdir())] == [b"kept", b"", b""]


def test_the_place_of_a_piece_is_all_it_takes_to_read_it(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=1, number=1)
    _, place = writer.write([(pa.py_buffer(b"first"),), (pa.py_buffer(b"sec"), pa.py_buffer(b"ond"))])
    writer.sync()
    assert read_place(tmp_path / place.file, place.offset, place.length, place.crc32c).to_pybytes() == b"second"


def test_what_is_taken_back_is_gone_and_the_next_piece_goes_to_another_file(tmp_path: Path) -> None:
    writer = SegmentWriter(tmp_path, epoch=1, number=1)
    ((first, _, _),) = written(writer, b"kept")
    written(writer, b"lost")
    writer.take_back()
    assert (tmp_path / first).read_bytes() == b"kept"
    ((second, offset, _),) = written(writer, b"next")
    assert (second != first, offset) == (True, 0)


def test_what_is_taken_back_is_not_looked_for_by_name(tmp_path: Path) -> None:
    """A later owner may have swept the file and given its name to another."""
    writer = SegmentWriter(tmp_path, epoch=1, number=1)
    ((name, _, _),) = written(writer, b"lost")
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"of another")
    writer.take_back()
    assert (tmp_path / name).read_bytes() == b"of another"


def test_pieces_that_fail_on_the_way_leave_no_bytes(tmp_path: Path) -> None:
    def pieces() -> Iterator[Piece]:
        yield (pa.py_buffer(b"one"),)
        raise ZeroDivisionError

    writer = SegmentWriter(tmp_path, epoch=1, number=1)
    with pytest.raises(ZeroDivisionError):
        writer.write(pieces())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b""]


def test_a_file_of_somebody_else_is_never_written_to(tmp_path: Path) -> None:
    (tmp_path / "seg-00000001-000001").write_bytes(b"mine")
    assert written(SegmentWriter(tmp_path, epoch=1, number=1), b"x")[0][0] == "seg-00000001-000002"
    assert (tmp_path / "seg-00000001-000001").read_bytes() == b"mine"


def test_an_owners_next_number_is_above_all_it_used() -> None:
    names = ["seg-00000001-000009", "seg-00000002-000004", "seg-00000002-000010", "notes"]
    assert [next_number(names, epoch) for epoch in (1, 2, 3)] == [10, 11, 1]


def test_a_sweep_removes_what_is_not_named_and_leaves_what_is_not_its_business(tmp_path: Path) -> None:
    named, unnamed, later = "seg-00000001-000001", "seg-00000002-000001", "seg-00000003-000001"
    for name in (named, unnamed, later, "notes.txt"):
        (tmp_path / name).write_bytes(b"12345678")
    sweep(tmp_path, {named: 5}, epoch=2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        named: b"12345",
        later: b"12345678",
        "notes.txt": b"12345678",
    }


def test_files_must_be_there_and_long_enough(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(b"1234")
    verify_present(tmp_path, {"here": 4})
    with pytest.raises(LogDamaged, match="offset 4"):
        verify_present(tmp_path, {"here": 5})
    with pytest.raises(LogMissing):
        verify_present(tmp_path, {"gone": 1})


def test_a_directory_that_is_gone_is_an_error_of_the_log(tmp_path: Path) -> None:
    with pytest.raises(LogError):
        SegmentWriter(tmp_path / "gone", epoch=1, number=1).write([(pa.py_buffer(b"x"),)])


def test_a_batch_is_stored_as_arrow_would_stream_it() -> None:
    batch = events(3)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    stored = pa.py_buffer(b"".join(buffer.to_pybytes() for buffer in encode(batch)))
    assert stored.equals(out.getvalue())
    assert decode(stored).equals(batch)


def test_a_piece_of_many_strides_is_written_whole(tmp_path: Path) -> None:
    data = bytes(range(256)) * 4096 * 3 + b"end"
    writer = SegmentWriter(tmp_path, epoch=1, number=1)
    (place,) = writer.write([(pa.py_buffer(data),)])
    writer.sync()
    assert read_place(tmp_path / place.file, place.offset, place.length, place.crc32c).to_pybytes() == data
