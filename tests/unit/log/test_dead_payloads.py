"""The payload of a dead letter: a packed row comes back, and any other bytes are no row."""

from __future__ import annotations

import pyarrow as pa

from holdfast.log.dead_entry import packed, unpacked

ROW = pa.table({"id": [1], "name": ["a"]})


def test_a_packed_row_comes_back() -> None:
    found = unpacked(packed(ROW))
    assert found is not None
    assert found.equals(ROW)


def test_no_changed_byte_of_a_row_is_more_than_another_row_or_none() -> None:
    """A type that Arrow does not implement raised an error that is no `ArrowInvalid`."""
    data = packed(ROW)
    damaged = 0
    for at in range(len(data)):
        for value in (0x00, 0x7F, 0x80, 0xFF):
            damaged += unpacked(data[:at] + bytes([value]) + data[at + 1 :]) is None
    assert damaged > 100
