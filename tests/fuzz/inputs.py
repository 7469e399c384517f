"""Inputs made of what a reader takes: changed here and there, cut, mixed, or with a piece of it repeated very often."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st

TOKENS = (
    *(b" ", b"\t", b"\n", b"\r\n", b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\x85", b"\xef\xbc\x91"),
    *(b"=", b"[", b"]", b"{", b"}", b"(", b'"', b"'", b"<", b">", b"</", b"/>", b"&", b"&a;", b"<!DOCTYPE a>", b","),
    *(b":", b"-", b"+", b".", b"e", b"E", b"D", b"#", b"*", b"!", b"%", b"\\", b"\\u", b"\\ud800", b"\\UFFFFFFFF"),
    *(b"NaN", b"inf", b"-0", b"1_5.5", b"0x1", b"1e999", b"1e-999", b"9" * 40, b"9" * 5000, b"null", b"true", b"1.2.3"),
    *(b"COMMENT HBR = 1.2.3\n", b"2016-12-31T23:59:60", b"9999-12-31T23:59:59", b"${", b"${A}", b"&a [*a]", b"\x1b[2J"),
)
_SHOWN = 10_000
LARGE = 100_000
"""Bytes of an input in which a piece is repeated."""


Change = tuple[float, int | None, bytes]
"""Where in the input, how many bytes are removed there (None: the word that stands there), and what is put instead."""
_WORD = re.compile(rb'"[^"\n]*"|[-+.\w]+')


@dataclass(frozen=True)
class Changed:
    """A sample with changes; shown as the bytes themselves, or as what it is made of when they are many."""

    sample: bytes
    changes: list[Change]

    @property
    def data(self) -> bytes:
        data = self.sample
        for at, removed, put in self.changes:
            start, stop = _span(data, at, removed)
            data = data[:start] + put + data[stop:]
        return data

    def __repr__(self) -> str:
        if len(self.sample) <= _SHOWN:
            return repr(self.data)
        return f"Changed(<{len(self.sample)} bytes>, {self.changes!r})"


def changed(samples: tuple[bytes, ...]) -> st.SearchStrategy[Changed]:
    """A sample in which some pieces are replaced by others of any sample, or by something odd."""
    return st.builds(Changed, st.sampled_from(samples), st.lists(_change(samples), min_size=1, max_size=4))


@dataclass(frozen=True)
class Repeated:
    """A sample with a piece that is repeated up to a large size; shown by what it is made of."""

    sample: bytes
    at: float
    removed: int | None
    piece: bytes

    @property
    def data(self) -> bytes:
        start, stop = _span(self.sample, self.at, self.removed)
        return self.sample[:start] + self.piece * (LARGE // len(self.piece)) + self.sample[stop:]

    def __repr__(self) -> str:
        sample = self.sample if len(self.sample) <= _SHOWN else f"<{len(self.sample)} bytes>"
        return f"Repeated({sample!r}, {self.at}, {self.removed}, {self.piece!r})"


def repeated(samples: tuple[bytes, ...]) -> st.SearchStrategy[Repeated]:
    """A sample with one piece, or something odd, repeated very often: what is quadratic shows here."""
    two = st.builds(bytes.__add__, *[st.sampled_from(TOKENS)] * 2)
    piece = st.one_of(st.sampled_from(TOKENS), _piece(samples), two)
    return st.builds(Repeated, st.sampled_from(samples), st.floats(0, 1), st.sampled_from([0, None]), piece)


def _piece(samples: tuple[bytes, ...]) -> st.SearchStrategy[bytes]:
    def cut(sample: bytes, at: float, size: int) -> bytes:
        start = int(at * max(0, len(sample) - 1))
        return sample[start : start + size] or b" "

    return st.builds(cut, st.sampled_from(samples), st.floats(0, 1), st.integers(1, 40))


def _change(samples: tuple[bytes, ...]) -> st.SearchStrategy[Change]:
    other = st.one_of(st.sampled_from(TOKENS), _piece(samples), st.just(b""), st.binary(max_size=4))
    return st.tuples(st.floats(0, 1), st.none() | st.integers(0, 20), other)


def _span(data: bytes, at: float, removed: int | None) -> tuple[int, int]:
    """The bytes that a change removes: so many from a place on, or one whole number, name or text in quotes."""
    words = [found.span() for found in _WORD.finditer(data)] if removed is None else []
    if words:
        return words[min(int(at * len(words)), len(words) - 1)]
    start = int(at * len(data))
    return start, start + (removed or 0)
