"""The bytes of an operator's snapshot: whole, or not a snapshot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.operators.dedup import InputCut, SparseEntry
from holdfast.checkpoint.operators.framing import MAGIC, VERSION, SnapshotCodec
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.model.errors import CheckpointDamaged, UnknownFormat

CODEC = SnapshotCodec()
SEQ = st.integers(0, 2**63)
OFFSET = st.integers() | st.text() | st.dictionaries(st.text(), st.integers() | st.text() | st.none(), max_size=3)
SPARSE = st.builds(SparseEntry, SEQ, st.floats(0, 1e6), OFFSET)
INPUT = st.builds(InputCut, SEQ, OFFSET | st.none(), SEQ, st.lists(SPARSE, max_size=3).map(tuple))
CUT = st.builds(Cut, st.text(), SEQ, st.dictionaries(st.text(), INPUT, max_size=3), SEQ)
SNAPSHOT = st.builds(OperatorSnapshot, CUT, st.lists(st.binary(max_size=40), max_size=4).map(tuple))
SMALL = OperatorSnapshot(Cut("sum", 3, {"left": InputCut(7, {"lsn": "0/7"})}, 9), (b"state of the sum", b"", b"more"))


@pytest.mark.req("K1")
@given(SNAPSHOT)
def test_what_is_read_is_what_was_written(snapshot: OperatorSnapshot) -> None:
    again = CODEC.decode(CODEC.encode(snapshot))
    assert again.cut == snapshot.cut
    assert [bytes(buffer) for buffer in again.buffers] == list(snapshot.buffers)


@pytest.mark.req("K1")
def test_a_snapshot_cut_short_anywhere_is_refused() -> None:
    payload = CODEC.encode(SMALL)
    for length in range(len(payload)):
        with pytest.raises(CheckpointDamaged):
            CODEC.decode(payload[:length])


@pytest.mark.req("K1")
def test_a_flipped_bit_anywhere_is_refused() -> None:
    payload = CODEC.encode(SMALL)
    for place in range(len(payload)):
        changed = bytearray(payload)
        changed[place] ^= 0x10
        with pytest.raises((CheckpointDamaged, UnknownFormat)):
            CODEC.decode(bytes(changed))


@pytest.mark.req("K1")
def test_state_of_another_snapshot_behind_the_offsets_is_refused() -> None:
    other = OperatorSnapshot(SMALL.cut, (b"state of another", b"", b"less"))
    header = len(CODEC.encode(SMALL)) - SMALL.size
    with pytest.raises(CheckpointDamaged):
        CODEC.decode(CODEC.encode(SMALL)[:header] + CODEC.encode(other)[-other.size :])


def test_bytes_behind_the_last_buffer_are_refused() -> None:
    with pytest.raises(CheckpointDamaged):
        CODEC.decode(CODEC.encode(SMALL) + b"x")


def test_buffers_are_views_of_what_was_read_and_not_copies() -> None:
    payload = CODEC.encode(SMALL)
    assert all(isinstance(b, memoryview) and b.obj is payload for b in CODEC.decode(payload).buffers)


def test_a_snapshot_of_a_newer_format_is_named_as_such() -> None:
    newer = MAGIC + (VERSION + 1).to_bytes(2, "little") + CODEC.encode(SMALL)[6:]
    with pytest.raises(UnknownFormat, match="version 2"):
        CODEC.decode(newer)
