"""Unpacks gzip piece by piece, and never makes more of it than is allowed. Pure."""

from __future__ import annotations

import zlib

from holdfast.model.errors import InvalidPush, PushTooLarge

_GZIP = 31
_MEMBERS = 1000
"""Of so many parts may a body consist: each costs time, and one may hold nothing."""


class Gunzip:
    """One body that is being unpacked.

    :param limit: how many bytes it may become.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._made = 0
        self._members = 0
        self._unpacking = zlib.decompressobj(_GZIP)
        self._is_inside = True
        """Whether more must come."""

    def feed(self, packed: bytes) -> bytes:
        """What these bytes unpack to. `InvalidPush` when they are no gzip, `PushTooLarge` when it becomes too much."""
        made: list[bytes] = []
        while packed:
            made.append(self._unpack(packed))
            packed = self._behind_member()
        return b"".join(made)

    def finish(self) -> None:
        """There is no more; `InvalidPush` when there should be."""
        if self._is_inside:
            raise _not_gzip("it is cut off")

    def _unpack(self, packed: bytes) -> bytes:
        self._is_inside = True
        try:
            piece = self._unpacking.decompress(packed, self._limit - self._made + 1)
        except zlib.error as error:
            raise _not_gzip(str(error)) from error
        self._made += len(piece)
        if self._made > self._limit:
            raise PushTooLarge(
                f"The body is larger than {self._limit} bytes, once it is unpacked.",
                remedy="Send it in several requests.",
            )
        return piece

    def _behind_member(self) -> bytes:
        """What follows the part that has ended; nothing while it has not."""
        if not self._unpacking.eof:
            return b""
        rest = self._unpacking.unused_data
        self._members += 1
        if self._members > _MEMBERS:
            raise _not_gzip(f"it consists of more than {_MEMBERS} parts")
        self._unpacking = zlib.decompressobj(_GZIP)
        self._is_inside = False
        return rest


def _not_gzip(why: str) -> InvalidPush:
    return InvalidPush(f"The body cannot be unpacked as gzip: {why}.", remedy="Send gzip, or no Content-Encoding.")
