"""Which observations a word was made from, picked out of those that could be. Pure.

A word says how many observations of an object it is from, and their digest: the sum, modulo two to the 64, of the first
halves of their ids. It was said with what had come until then, so later observations of the same window are not in it,
and of each log it has seen everything up to some place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

_WHOLE = 1 << 64
_MOST_WAYS = 200_000
"""So many ways to cut the logs are tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """One observation, and where it lies.

    :param log: the log of the edge; `seq` is its number there.
    :param is_raw_kept: whether the bytes of the wire are still there, in the log of raw frames of the same source.
    """

    observation_id: str
    source_id: str
    object_id: str
    sensor_ts_ns: int
    ingest_ts_ns: int
    log: str
    seq: int
    is_raw_kept: bool = False

    @property
    def digest(self) -> int:
        """The number that fusion adds up."""
        return int.from_bytes(bytes.fromhex(self.observation_id.replace("-", ""))[:8], "little")


def digest_of(observations: Sequence[Traced]) -> int:
    """Of all of them together."""
    return sum(each.digest for each in observations) % _WHOLE


def picked(candidates: Sequence[Traced], count: int, digest: int) -> list[Traced] | None:
    """Those that a word with this count and digest is from; nothing when none of the ways to cut the logs fits.

    :param candidates: of one object in one window, those of each log in its order.
    """
    logs = [[each for each in candidates if each.log == log] for log in sorted({each.log for each in candidates})]
    by_arrival = sorted(candidates, key=lambda each: (each.ingest_ts_ns, each.log, each.seq))[:count]
    for way in (candidates, by_arrival):
        if len(way) == count and digest_of(way) == digest:
            return sorted(way, key=_place)
    if prod(len(log) + 1 for log in logs[:-1]) > _MOST_WAYS:
        return None
    return _cut(logs, count, digest)


def _cut(logs: Sequence[Sequence[Traced]], count: int, digest: int) -> list[Traced] | None:
    """Everything up to some place of each log, so that the count and the digest are right."""
    sums = [_running(log) for log in logs]
    for cuts in product(*(range(len(log) + 1) for log in logs[:-1])):
        last = count - sum(cuts)
        if logs and 0 <= last <= len(logs[-1]):
            whole = (*cuts, last)
            if sum(of[cut] for of, cut in zip(sums, whole, strict=True)) % _WHOLE == digest:
                return [each for log, cut in zip(logs, whole, strict=True) for each in log[:cut]]
    return None


def _running(log: Sequence[Traced]) -> list[int]:
    sums = [0]
    for each in log:
        sums.append((sums[-1] + each.digest) % _WHOLE)
    return sums


def _place(each: Traced) -> tuple[str, int]:
    return each.log, each.seq
