"""The position in a durable log that somebody else writes, of a reader that leaves some of its events out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Places, Position, order_of
from holdfast.model.positions.checks import invalid, number_in, shown, string, whole_number
from holdfast.model.positions.log import LogPosition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json


@final
@dataclass(frozen=True, slots=True)
class SiftedPosition(Position):
    """The number of the last event that is done, in the log of this uuid, and how many up to it were left out.

    It is kept together with the events that were not left out. So the count is exact whenever the reader is killed, and
    needs no store of its own.
    """

    kind: ClassVar[str] = "sifted"
    field_names: ClassVar[frozenset[str]] = frozenset({"log", "seq", "left_out"})

    log: str
    seq: int
    left_out: int = 0

    def __post_init__(self) -> None:
        LogPosition(self.log, self.seq)
        whole_number(self.kind, "left_out", self.left_out, most=self.seq)

    @property
    def in_log(self) -> LogPosition:
        """The same place, for whoever leaves nothing out."""
        return LogPosition(self.log, self.seq)

    def compare(self, other: Position) -> Order:
        """By number, within one log."""
        if not isinstance(other, SiftedPosition) or other.log != self.log:
            return Order.INCOMPARABLE
        return order_of(self.seq, other.seq)

    def at_row(self, rows: Places, row: int) -> SiftedPosition:
        """Events say only their number; of the numbers behind it, those that are no event here were left out."""
        seq = number_in(self.kind, rows[row])
        left_out_behind = (self.seq - seq) - (len(rows) - 1 - row)
        return SiftedPosition(self.log, seq, self.left_out - left_out_behind)

    def __str__(self) -> str:
        return f"{self.log}:{self.seq}-{self.left_out}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads the uuid, a colon, and both numbers with a hyphen between."""
        log, colon, numbers = text.partition(":")
        seq, hyphen, left_out = numbers.partition("-")
        if not colon or not hyphen:
            raise invalid(cls.kind, f"{shown(text)} is not a uuid, a colon, and two numbers with a hyphen between")
        return cls(log, number_in(cls.kind, seq), number_in(cls.kind, left_out))

    def to_fields(self) -> dict[str, Json]:
        """All three, as they are."""
        return {"log": self.log, "seq": self.seq, "left_out": self.left_out}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls(
            string(cls.kind, "log", fields["log"]),
            whole_number(cls.kind, "seq", fields["seq"]),
            whole_number(cls.kind, "left_out", fields["left_out"]),
        )
