"""Decides which file a file is: one that is known under another name, a copy of one, or a new one. Pure.

A file is what it begins with. An inode is used again, a name is given away, a copy has both anew; what was captured of
a file stays at its beginning. Only while little of a file is known can two of them look alike, and then a decision
waits for more: an unknown file is left alone until it differs from the known one, or the known one has been gone for a
while.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b
from typing import TYPE_CHECKING

from holdfast.model.positions import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence


def fingerprint_of(beginning: bytes) -> Fingerprint:
    """The fingerprint of what a file begins with."""
    return Fingerprint(blake2b(beginning, digest_size=16).hexdigest() if beginning else "", len(beginning))


@dataclass(frozen=True, slots=True)
class Sighting:
    """A file whose identity is in question."""

    head: bytes
    """What it begins with."""
    size: int | None
    """None for a compressed one: that is not known before it is unpacked."""
    _fingerprints: dict[int, Fingerprint] = field(default_factory=dict, compare=False, repr=False)

    def begins_with(self, fingerprint: Fingerprint) -> bool:
        """Whether its first bytes are those of the fingerprint."""
        length = fingerprint.length
        if len(self.head) < length:
            return False
        if length not in self._fingerprints:
            self._fingerprints[length] = fingerprint_of(self.head[:length])
        return self._fingerprints[length] == fingerprint

    def has(self, offset: int) -> bool:
        """Whether it reaches up to a byte, as far as one knows."""
        return self.size is None or self.size >= offset


@dataclass(frozen=True, slots=True)
class Absent:
    """A known file that is nowhere to be seen."""

    fingerprint: Fingerprint
    offset: int
    is_settled: bool
    """Whether it has been gone for long enough to be believed."""


class Verdict(Enum):
    """What a file is."""

    NEW = auto()
    COPY = auto()
    """It has nothing but what a known file has; it is left alone."""
    MOVED = auto()
    """It is a known file under another name: reading goes on in it."""
    LATER = auto()
    """That cannot be told yet."""


class Heads:
    """What the files that are present begin with, to be searched for those that begin alike."""

    def __init__(self, heads: Sequence[bytes]) -> None:
        self._heads = sorted(heads)

    def add(self, head: bytes) -> None:
        """One more file is present."""
        insort(self._heads, head)

    def starting_with(self, head: bytes) -> bytes | None:
        """One of them that begins with `head`."""
        at = bisect_left(self._heads, head)
        is_found = at < len(self._heads) and self._heads[at].startswith(head)
        return self._heads[at] if is_found else None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an unknown file is."""

    verdict: Verdict
    absent: Absent | None = None
    """The absent file that it is, or is a copy of."""
    original: bytes | None = None
    """What the present file begins with that it is a copy of."""


def judge(sighting: Sighting, absent: Sequence[Absent], present: Heads, *, window: int) -> Judgement:
    """What an unknown file is.

    :param present: their heads, read after that of the sighting: the original of a copy is never shorter than it.
    :param window: from so many bytes on, what a file begins with tells it from all others.
    """
    alike = [one for one in absent if one.fingerprint.length and sighting.begins_with(one.fingerprint)]
    if alike:
        one = max(alike, key=lambda known: (known.fingerprint.length, known.offset))
        if not sighting.has(one.offset):
            return Judgement(Verdict.COPY, absent=one)
        is_certain = one.is_settled or one.fingerprint.length >= window
        return Judgement(Verdict.MOVED if is_certain else Verdict.LATER, absent=one)
    original = present.starting_with(sighting.head)
    return Judgement(Verdict.NEW) if original is None else Judgement(Verdict.COPY, original=original)
