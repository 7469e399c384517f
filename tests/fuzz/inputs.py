"""Inputs made of what a reader takes: changed here and there, cut, mixed, or with a piece of it repeated very often."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

TOKENS = (
    *(b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\x85", b"\xef\xbc\x91"),
    *(b"=", b"[", b"]", b"{", b"}", b"(", b'"', b"'", b"<", b">", b"</", b"/>", b"&", b"&a;", b"<!DOCTYPE a>", b","),
    *(b":", b"-", b"+", b".", b"e", b"E", b"D", b"#", b"*", b"!", b"%", b"\\", b"\\u", b"\\ud800", b"\\UFFFFFFFF"),
    *(b"NaN", b"inf", b"-0", b"1_5.5", b"0x1", b"1e999", b"1e-999", b"9" * 40, b"9" * 5000, b"null", b"true", b"1.2.3"),
    *(b"COMMENT HBR = 1.2.3\n", b"2016-12-31T23:59:60", b"9999-12-31T23:59:59", b"${", b"${A}", b"&a [*a]", b"\x1b[2J"),
)
LARGE = 100_000
"""Bytes of an input in which a piece is repeated."""


def changed(samples: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    """A sample in which some pieces are replaced by others of any sample, or by something odd."""
    return st.builds(_changed, st.sampled_from(samples), st.lists(_change(samples), min_size=1, max_size=4))


@dataclass(frozen=True)
class Repeated:
    """A sample with a piece that is repeated up to a large size; shown by what it is made of."""

    sample: bytes
    at: float
    piece: bytes

    @property
    def data(self) -> bytes:
        start = int(self.at * len(self.sample))
        return self.sample[:start] + self.piece * (LARGE // len(self.piece)) + self.sample[start:]


def repeated(samples: tuple[bytes, ...]) -> st.SearchStrategy[Repeated]:
    """A sample with one piece, or something odd, repeated very often: what is quadratic shows here."""
    two = st.builds(bytes.__add__, *[st.sampled_from(TOKENS)] * 2)
    piece = st.one_of(st.sampled_from(TOKENS), _piece(samples), two)
    return st.builds(Repeated, st.sampled_from(samples), st.floats(0, 1), piece)


def _piece(samples: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    def cut(sample: bytes, at: float, size: int) -> bytes:
        start = int(at * max(0, len(sample) - 1))
        return sample[start : start + size] or b" "

    return st.builds(cut, st.sampled_from(samples), st.floats(0, 1), st.integers(1, 40))


def _change(samples: tuple[bytes, ...]) -> st.SearchStrategy[tuple[float, int, bytes]]:
    other = st.one_of(st.sampled_from(TOKENS), _piece(samples), st.just(b""), st.binary(max_size=4))
    return st.tuples(st.floats(0, 1), st.integers(0, 20), other)


def _changed(sample: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    for at, removed, put in changes:
        start = int(at * len(sample))
        sample = sample[:start] + put + sample[start + removed :]
    return sample
