"""Sets of whole numbers as sorted, disjoint, closed intervals that never touch. Pure; it does not know what is counted.

A gap is a number that is not in the set, and no operation fills one: 1-3 and 5-7 stay apart, 1-3 and 4-7 become 1-7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Interval: TypeAlias = tuple[int, int]
"""The first and the last number of a range, both in it."""

Intervals: TypeAlias = tuple[Interval, ...]
"""A set of numbers. All functions here return the normal form, so two sets are equal exactly when the tuples are."""


def normalise(intervals: Iterable[Interval]) -> Intervals:
    """The union of the intervals, in normal form."""
    merged: list[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def subtract(whole: Intervals, part: Intervals) -> Intervals:
    """The numbers of `whole` that are not in `part`; both in normal form."""
    kept: list[Interval] = []
    begin = 0
    for first, last in whole:
        while begin < len(part) and part[begin][1] < first:
            begin += 1
        kept.extend(_cut(first, last, part, begin))
    return tuple(kept)


def covers(whole: Intervals, part: Intervals) -> bool:
    """Whether every number of `part` is in `whole`; both in normal form."""
    return not subtract(part, whole)


def _cut(first: int, last: int, part: Intervals, begin: int) -> Iterable[Interval]:
    """What is left of one interval; `part[begin]` is the first that may reach into it."""
    for index in range(begin, len(part)):
        cut_first, cut_last = part[index]
        if cut_first > last:
            break
        if cut_first > first:
            yield (first, cut_first - 1)
        first = cut_last + 1
    if first <= last:
        yield (first, last)
