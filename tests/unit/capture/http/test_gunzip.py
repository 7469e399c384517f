"""Gzip is unpacked up to a limit and no further, however it is cut."""

from __future__ import annotations

import gzip
import os
import zlib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.http.gunzip import Gunzip
from holdfast.model.errors import InvalidPush, PushTooLarge


def unpacked(packed: bytes, *, limit: int = 10**6, piece: int = 7) -> bytes:
    gunzip = Gunzip(limit)
    made = b"".join(gunzip.feed(packed[at : at + piece]) for at in range(0, len(packed), piece))
    gunzip.finish()
    return made


@given(st.lists(st.binary(), min_size=1, max_size=3), st.integers(1, 200))
def test_whatever_was_packed_comes_out(parts: list[bytes], piece: int) -> None:
    packed = b"".join(map(gzip.compress, parts))
    assert unpacked(packed, piece=piece) == b"".join(parts)


@pytest.mark.req("A1")
def test_a_bomb_is_refused_before_it_is_made() -> None:
    packed = gzip.compress(bytes(1_000_000))
    gunzip = Gunzip(1000)
    with pytest.raises(PushTooLarge, match="once it is unpacked"):
        gunzip.feed(packed)


@pytest.mark.req("A1")
@pytest.mark.parametrize("piece", [1, 7, 30])
@pytest.mark.parametrize("members", [1, 50], ids=["one member", "fifty members"])
def test_a_bomb_in_pieces_is_refused_before_more_than_the_limit_is_made(piece: int, members: int) -> None:
    """No piece alone unpacks to the limit: what counts is what all of them make together."""
    packed = gzip.compress(bytes(60_000 // members)) * members
    gunzip = Gunzip(50_000)
    made: list[int] = []

    def feed_all() -> None:
        for at in range(0, len(packed), piece):
            made.append(len(gunzip.feed(packed[at : at + piece])))

    with pytest.raises(PushTooLarge, match="50000 bytes, once it is unpacked"):
        feed_all()
    assert 0 < sum(made) <= 50_000


@pytest.mark.req("A1")
def test_no_piece_is_unpacked_beyond_what_is_left_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory that a body takes is bounded by the limit, and not by the limit for each piece."""
    allowed: list[int] = []

    class Unpacking:
        def __init__(self, how: int) -> None:
            self._real = zlib.decompressobj(how)

        def decompress(self, packed: bytes, most: int) -> bytes:
            allowed.append(most)
            return self._real.decompress(packed, most)

        eof = property(lambda self: self._real.eof)

    packed = gzip.compress(bytes(60_000))
    monkeypatch.setattr("holdfast.capture.http.gunzip.zlib", SimpleNamespace(decompressobj=Unpacking, error=zlib.error))
    gunzip = Gunzip(50_000)
    made = [0]
    with pytest.raises(PushTooLarge):
        made.extend(len(gunzip.feed(packed[at : at + 1])) for at in range(len(packed)))
    assert 0 < sum(made) <= 50_000
    assert allowed[-1] == 50_001 - sum(made)


def test_exactly_the_limit_is_taken() -> None:
    data = os.urandom(5000)
    assert unpacked(gzip.compress(data), limit=5000) == data


@pytest.mark.parametrize(
    "packed",
    [b"", gzip.compress(b"text")[:-1], gzip.compress(b"a") + gzip.compress(b"b")[:5]],
    ids=["nothing", "in its trailer", "in its second member"],
)
def test_what_is_cut_off_is_refused(packed: bytes) -> None:
    with pytest.raises(InvalidPush, match="cut off"):
        unpacked(packed)


@pytest.mark.parametrize(
    "packed", [b"plain text", gzip.compress(b"a") + b"garbage"], ids=["not at all", "not to its end"]
)
def test_what_is_no_gzip_is_refused(packed: bytes) -> None:
    with pytest.raises(InvalidPush, match="as gzip"):
        unpacked(packed)


def test_parts_without_end_are_refused() -> None:
    with pytest.raises(InvalidPush, match="parts"):
        unpacked(gzip.compress(b"") * 1001, piece=10**6)
