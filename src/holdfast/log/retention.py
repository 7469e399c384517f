"""Decides what a log may forget. Pure: the index hands in its rows, oldest first, as many as are asked for.

Readers decide; bounds of time and size only keep longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.log.segment import ROLL_AT
from holdfast.log.times import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from holdfast.log.values import Keep


_SEGMENTS_A_QUOTA = 8
"""A segment is removed as a whole, so the last chunk of one that is still needed may keep an eighth of a quota."""


def roll_size(quota: int | None) -> int:
    """The size at which a log with this quota begins another segment."""
    return ROLL_AT if quota is None else max(1, min(ROLL_AT, quota // _SEGMENTS_A_QUOTA))


class Item(NamedTuple):
    """What is forgotten as a whole: a chunk of an inbox, or a batch of an outbox."""

    last: int
    """Its number, or that of its last event."""
    nbytes: int
    time: int
    """When it was written, in milliseconds."""


class Forgotten(NamedTuple):
    """How far a log may forget."""

    through: int
    nbytes: int


def forgettable(
    items: Iterable[Item],
    *,
    after: int,
    needed_from: int,
    total: int,
    keep: Keep | None,
    now: datetime,
    keep_from: int = 0,
) -> Forgotten:
    """How far the log may forget: never into `needed_from`, and nothing that is to be kept longer.

    :param items: what is there, oldest first.
    :param after: what was forgotten before.
    :param total: the bytes of all items.
    :param keep_from: nothing before this number is kept longer than it is needed.
    """
    gone = Forgotten(after, 0)
    for item in items:
        is_kept = item.last >= keep_from and _is_kept(item, total - gone.nbytes, keep, now)
        if item.last >= needed_from or is_kept:
            break
        gone = Forgotten(item.last, gone.nbytes + item.nbytes)
    return gone


def _is_kept(item: Item, retained: int, keep: Keep | None, now: datetime) -> bool:
    if keep is None:
        return False
    is_young = keep.age is not None and item.time > milliseconds(now - keep.age)
    is_small = keep.nbytes is not None and retained <= keep.nbytes
    return is_young or is_small
