"""Cuts a batch for a sink that can take nothing back. Pure.

Such a sink cannot be probed: what it takes, it has. So a piece that it refuses is halved, down to what is refused
together, and what is refused then is the culprit. A piece is known by its first and last ordinal.

After a crash the same way is taken again. A piece with rows that are in the dead letters was refused before, so it is
halved without being sent; every other piece holds the rows that it held before. So a receiver that recognises what
comes again under the same name has every row once.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from holdfast.deliver.rows import units_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from holdfast.deliver.rows import Parcel, PoisonUnit, Unit


@dataclass(slots=True)
class Pieces:
    """How far a batch has come."""

    units: Sequence[Unit]
    """What is refused together, of all rows of the batch."""
    dead: Sequence[int]
    """The places of rows that are in the dead letters since an earlier life, ascending."""
    limit: int
    """How many rows a piece may have; more only if it is one unit."""
    _left: list[range] = field(init=False)
    """The units that are still to be sent, the next ones last."""

    def __post_init__(self) -> None:
        self._left = [range(len(self.units))] if self.units else []

    @classmethod
    def of(cls, parcel: Parcel, unit: PoisonUnit, rejected: Collection[int], limit: int) -> Pieces:
        """A batch of which nothing was sent in this life."""
        dead = np.flatnonzero(np.isin(parcel.ordinals.to_numpy(), list(rejected)))
        return cls(units_of(parcel, unit), dead.tolist(), limit)

    def next(self) -> range | None:
        """The places of the rows to send now; None when everything was sent."""
        while self._left:
            piece = self._left[-1]
            places = self._places(piece)
            is_dead = self._holds_dead(places)
            if not is_dead and (len(places) <= self.limit or len(piece) == 1):
                return places
            self._left.pop()
            self._left += _halves(piece)
        return None

    def done(self) -> None:
        """The piece is in the sink, or in the dead letters."""
        self._left.pop()

    def halve(self) -> bool:
        """The piece was refused: look at its halves; False when it has none."""
        halves = _halves(self._left[-1])
        if halves:
            self._left[-1:] = halves
        return bool(halves)

    def left(self) -> list[range]:
        """The places of everything that was not sent, those of dead rows included."""
        return [self._places(piece) for piece in reversed(self._left)]

    def _places(self, piece: range) -> range:
        return range(self.units[piece[0]].start, self.units[piece[-1]].stop)

    def _holds_dead(self, places: range) -> bool:
        at = bisect_left(self.dead, places.start)
        return at < len(self.dead) and self.dead[at] < places.stop


def _halves(piece: range) -> list[range]:
    """The second and the first half; nothing for a single unit."""
    middle = len(piece) // 2
    return [piece[middle:], piece[:middle]] if middle else []
