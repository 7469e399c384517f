"""How a payload is kept: compressed when that pays, and checked when it is read. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import google_crc32c
import zstandard

from holdfast.model.errors import CheckpointDamaged

COMPRESS_FROM = 4096
"""Below this size compressing costs more than the disk it saves."""


class Encoding(Enum):
    """How the stored bytes relate to the payload."""

    PLAIN = "plain"
    ZSTD = "zstd"


@dataclass(frozen=True, slots=True)
class Sealed:
    """A payload as it lies in a store."""

    data: bytes = field(repr=False)
    encoding: Encoding
    size: int
    checksum: int


def seal(payload: bytes) -> Sealed:
    """Prepare a payload for storage."""
    checksum = google_crc32c.value(payload)
    if len(payload) >= COMPRESS_FROM:
        compressed = zstandard.compress(payload, level=1)
        if len(compressed) < len(payload):
            return Sealed(compressed, Encoding.ZSTD, len(payload), checksum)
    return Sealed(payload, Encoding.PLAIN, len(payload), checksum)


def unseal(sealed: Sealed, *, where: str) -> bytes:
    """The payload again, verified; `where` names the place for the error."""
    try:
        payload = _decompress(sealed) if sealed.encoding is Encoding.ZSTD else sealed.data
    except zstandard.ZstdError as error:
        raise _damaged(where, f"it cannot be decompressed ({error})") from error
    if len(payload) != sealed.size or google_crc32c.value(payload) != sealed.checksum:
        raise _damaged(where, "its bytes do not match its checksum")
    return payload


def _decompress(sealed: Sealed) -> bytes:
    return zstandard.ZstdDecompressor().decompress(sealed.data, max_output_size=sealed.size)


def _damaged(where: str, why: str) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"The checkpoint {where} is damaged: {why}.",
        kept="Older versions and other keys are untouched.",
        remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
        where=where,
    )
