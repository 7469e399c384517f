"""The id of an observation: UUID version 5 over what the sensor itself sent, for many at once. Nothing random."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from meridian.sensors.observation import SourceKind

NAMESPACE = UUID("6f7c1d52-43b9-5a0e-9d5d-3f5b1f0a7c11")
"""Of all observations. It never changes: an id that changes is another observation."""

_HEX = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), np.uint8).reshape(256, 2)
_LETTERS = np.array([place for place in range(36) if place not in (8, 13, 18, 23)])
_SHORT = 20


def observation_ids(kind: SourceKind, natives: Iterable[bytes | memoryview]) -> npt.NDArray[np.uint8]:
    """The ids of observations of one kind.

    :param natives: what identifies each at its sensor, the sensor itself included: a radar's or a satellite's frame, a
        telescope's site and record number.
    """
    begun = hashlib.sha1(NAMESPACE.bytes + kind.label.encode() + b"\n", usedforsecurity=False)
    digests = bytearray()
    for native in natives:
        digest = begun.copy()
        digest.update(native)
        digests += digest.digest()
    ids = np.frombuffer(digests, np.uint8).reshape(-1, _SHORT)[:, :16].copy()
    ids[:, 6] = ids[:, 6] & 0x0F | 0x50
    ids[:, 8] = ids[:, 8] & 0x3F | 0x80
    return ids


def id_texts(ids: npt.NDArray[np.uint8]) -> pa.StringArray:
    """The ids as people write them."""
    count = len(ids)
    texts = np.full((count, 36), ord("-"), np.uint8)
    texts[:, _LETTERS] = _HEX[ids].reshape(count, 32)
    return fixed_width(pa.string(), texts)


def fixed_width(kind: pa.DataType, rows: npt.NDArray[np.uint8]) -> pa.Array:
    """Rows of equally many bytes as values of variable length, without looking at any of them."""
    count, width = rows.shape
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))])
