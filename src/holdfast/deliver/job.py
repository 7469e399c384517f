"""One batch on one lane, from its first attempt to its last: what is still owed of it and what was found out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.deliver.bisect import Manner, Search
from holdfast.deliver.contract import SinkBatch
from holdfast.deliver.pieces import Pieces
from holdfast.deliver.rows import PoisonUnit, Unit, chosen, units_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.deliver.rows import Parcel
    from holdfast.flow.retry import Tries


class Suspicion(Enum):
    """What is done the next time the sink refuses the batch. Each refusal takes one step down."""

    ALONE = "look for rows that are refused alone"
    TOGETHER = "look for rows that are refused beside the others"
    WHOLE = "the probes take what the delivery refuses: reject all of it"


_NEXT = {Suspicion.ALONE: Suspicion.TOGETHER, Suspicion.TOGETHER: Suspicion.WHOLE}
_MANNER = {Suspicion.ALONE: Manner.ALONE, Suspicion.TOGETHER: Manner.TOGETHER}


@dataclass(slots=True)
class Job:
    """A batch that a worker carries."""

    oseq: int
    previous: int
    """The lane's batch before this one: what the sink's own cursor says before this one is applied."""
    parcel: Parcel
    """The rows that belong to the lane, those rejected before included."""
    published: int
    """How many rows the batch has, those of other routes included."""
    tries: Tries
    unit: PoisonUnit
    columns: Sequence[str] | None = None
    """Those that the sink is given; None for all."""
    rejected: frozenset[int] = frozenset()
    """The ordinals that are recorded in the dead letters."""
    refused: frozenset[int] = frozenset()
    """Those of them that are dropped on purpose, because the dead letters had no room."""
    in_doubt: bool = False
    """Whether an attempt may have put the batch into the sink without our knowing."""
    was_frozen: bool = False
    """Whether an answer of the sink froze the lane until somebody acted."""
    suspicion: Suspicion = Suspicion.ALONE
    owed: Parcel = field(init=False)
    """The rows that are still to be delivered."""
    search: Search[Unit] | None = None
    """The search for refused rows that is under way; it goes on after an interruption."""
    pieces: Pieces | None = None
    """How far it has come, for a sink that is given pieces."""

    def __post_init__(self) -> None:
        self.owed = self.parcel.without(self.rejected)

    def batch(self, rows: Parcel) -> SinkBatch:
        """These rows as they are sent to the sink."""
        return SinkBatch(self.oseq, self.previous, chosen(rows.rows, self.columns), rows.ordinals)

    @property
    def undelivered(self) -> Parcel:
        """What is owed and not in the sink, as far as we know."""
        return self.owed if self.pieces is None else self.parcel.at(self.pieces.left()).without(self.rejected)

    def cut(self, limit: int) -> Pieces:
        """The pieces that are still to be sent, of at most so many rows."""
        if self.pieces is None:
            self.pieces = Pieces.of(self.parcel, self.unit, self.rejected, limit)
        return self.pieces

    def searching(self) -> Search[Unit] | None:
        """The search to run now; None when searching has come to its end."""
        manner = _MANNER.get(self.suspicion)
        if manner is not None and self.search is None:
            self.search = Search(units_of(self.owed, self.unit), manner)
        return self.search

    def searched(self) -> None:
        """The search is over: if the sink refuses what is left, look in another manner."""
        self.search = None
        self.suspicion = _NEXT.get(self.suspicion, Suspicion.WHOLE)

    def reject(self, ordinals: Iterable[int], *, refused: frozenset[int]) -> None:
        """These rows are given up: they are never sent."""
        self.rejected = self.rejected | frozenset(ordinals)
        self.refused = refused
        self.owed = self.parcel.without(self.rejected)
