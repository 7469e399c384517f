"""How an operator's snapshot lies in a store: a JSON header for the cut, then the buffers as they are.

    HFOP | version u16 | header length u32 | header crc32 u32 | header | buffer 0 | buffer 1 | …

The header names the length and checksum of every buffer, and nothing may follow the last one; so state without its
offsets, offsets without their state, or a part of either cannot be read as a snapshot. Buffers are joined once when
written and are views of the payload when read. CRC-32 rather than CRC-32C, because zlib checks a view without copying
it and lets the event loop run meanwhile.
"""

from __future__ import annotations

import json
import struct
from io import BytesIO
from typing import TYPE_CHECKING, Any
from zlib import crc32

from holdfast.checkpoint.operators.dedup import InputCut, SparseEntry
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.model.errors import CheckpointDamaged, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"HFOP"
VERSION = 1
_PREFIX = struct.Struct("<4sHII")
_PIECE = 1 << 20
"""Buffers are joined in pieces, between which the interpreter can turn to the event loop."""


class SnapshotCodec:
    """The codec of an operator's snapshot, for a store's typed key."""

    def encode(self, value: OperatorSnapshot) -> bytes:
        """The bytes that are stored."""
        header = json.dumps(_header(value), separators=(",", ":")).encode()
        joined = BytesIO()
        joined.write(_PREFIX.pack(MAGIC, VERSION, len(header), crc32(header)))
        joined.write(header)
        for buffer in value.buffers:
            for start in range(0, len(buffer), _PIECE):
                joined.write(buffer[start : start + _PIECE])
        return joined.getvalue()

    def decode(self, payload: bytes) -> OperatorSnapshot:
        """The snapshot again; `UnknownFormat` when it is not one of ours, `CheckpointDamaged` when it is not whole."""
        view = memoryview(payload)
        header = _read_header(view)
        start = _PREFIX.size + header["length"]
        return OperatorSnapshot(_cut(header), tuple(_read_buffers(view[start:], header["buffers"])))


def _header(value: OperatorSnapshot) -> dict[str, object]:
    return {
        "operator": value.cut.operator,
        "snapshot": value.cut.snapshot_id,
        "emitted": value.cut.emitted,
        "inputs": {name: _input_json(cut) for name, cut in value.cut.inputs.items()},
        "buffers": [[len(buffer), crc32(buffer)] for buffer in value.buffers],
    }


def _input_json(cut: InputCut) -> dict[str, object]:
    above = [[entry.seq, entry.age, entry.offset] for entry in cut.above]
    return {"applied": cut.applied, "offset": cut.offset, "given_up": cut.given_up, "above": above}


def _read_header(view: memoryview) -> dict[str, Any]:
    if len(view) < _PREFIX.size:
        raise _damaged("it is shorter than its first fields")
    magic, version, length, checksum = _PREFIX.unpack_from(view)
    if magic != MAGIC or version > VERSION:
        raise _unknown(magic, version)
    raw = view[_PREFIX.size : _PREFIX.size + length]
    if len(raw) != length or crc32(raw) != checksum:
        raise _damaged("its header does not match its checksum")
    header: dict[str, Any] = json.loads(bytes(raw))
    return header | {"length": length}


def _read_buffers(view: memoryview, table: list[list[int]]) -> Iterator[memoryview]:
    if len(view) != sum(size for size, _ in table):
        raise _damaged("its buffers are not as long as its header says")
    start = 0
    for index, (size, checksum) in enumerate(table):
        buffer = view[start : start + size]
        if crc32(buffer) != checksum:
            raise _damaged(f"buffer {index} does not match its checksum")
        yield buffer
        start += size


def _cut(header: dict[str, Any]) -> Cut:
    inputs = {name: _input_cut(value) for name, value in header["inputs"].items()}
    return Cut(header["operator"], header["snapshot"], inputs, header["emitted"])


def _input_cut(value: dict[str, Any]) -> InputCut:
    above = tuple(SparseEntry(*entry) for entry in value["above"])
    return InputCut(value["applied"], value["offset"], value["given_up"], above)


def _unknown(magic: bytes, version: int) -> UnknownFormat:
    found = f"version {version}" if magic == MAGIC else f"{magic!r}"
    return UnknownFormat(
        f"This is not an operator's snapshot that this version reads: it starts with {found}.",
        remedy="Start the version of Holdfast that wrote it, or go back to an older version of the key.",
        found=found,
    )


def _damaged(why: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"An operator's snapshot is damaged: {why}.",
        kept="Older versions and other keys are untouched.",
        remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
        why=why,
    )
