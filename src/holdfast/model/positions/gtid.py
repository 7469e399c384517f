"""The position of a MySQL source as the set of transactions that are done. MariaDB's GTIDs are another thing.

The text form is MySQL's own; reading and writing it is the business of `gtid_text`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions import gtid_text, intervals
from holdfast.model.positions.base import Order, Position, order_of_containment
from holdfast.model.positions.checks import invalid, string, whole_number
from holdfast.model.positions.tsid import KIND, Tsid

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.intervals import Interval, Intervals
    from holdfast.model.positions.json_value import Json

__all__ = ["GtidSet", "Tsid"]


@final
@dataclass(frozen=True, slots=True)
class GtidSet(Position):
    """Transactions by the source that numbered them. Ordered by containment, which is a partial order.

    Any members may be given; they are kept sorted, merged and without empty ones, so equal sets are equal values.
    """

    kind: ClassVar[str] = KIND
    field_names: ClassVar[frozenset[str]] = frozenset({"gtids"})

    members: tuple[tuple[Tsid, Intervals], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", _normalise(self.members))

    def union(self, other: GtidSet) -> GtidSet:
        """The transactions of either set; a gap of both stays a gap."""
        return GtidSet(self.members + other.members)

    def subtract(self, other: GtidSet) -> GtidSet:
        """The transactions of this set that are not in the other."""
        theirs = dict(other.members)
        return GtidSet(tuple((tsid, intervals.subtract(mine, theirs.get(tsid, ()))) for tsid, mine in self.members))

    def contains(self, other: GtidSet) -> bool:
        """Whether every transaction of `other` is in this set."""
        mine = dict(self.members)
        return all(intervals.covers(mine.get(tsid, ()), theirs) for tsid, theirs in other.members)

    def compare(self, other: Position) -> Order:
        """By containment."""
        if not isinstance(other, GtidSet):
            return Order.INCOMPARABLE
        return order_of_containment(covers=self.contains(other), covered=other.contains(self))

    def __str__(self) -> str:
        return gtid_text.write(self.members)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads MySQL's text form, with white space and in any order, as `@@gtid_executed` gives it."""
        return cls(tuple(gtid_text.read(text)))

    def to_fields(self) -> dict[str, Json]:
        """The text form, which is compact and can be given to MySQL as it is."""
        return {"gtids": str(self)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls.from_text(string(cls.kind, "gtids", fields["gtids"]))


def _normalise(members: tuple[tuple[Tsid, Intervals], ...]) -> tuple[tuple[Tsid, Intervals], ...]:
    gathered: dict[Tsid, list[Interval]] = {}
    for tsid, found in members:
        gathered.setdefault(tsid, []).extend(_checked(interval) for interval in found)
    ordered = sorted(gathered.items(), key=lambda member: (member[0].uuid, member[0].tag))
    return tuple((tsid, intervals.normalise(found)) for tsid, found in ordered if found)


def _checked(interval: Interval) -> Interval:
    first, last = interval
    whole_number(GtidSet.kind, "first transaction number", first, least=1)
    whole_number(GtidSet.kind, "last transaction number", last, least=1)
    if first > last:
        raise invalid(GtidSet.kind, f"its interval {first}-{last} ends before it begins")
    return first, last
