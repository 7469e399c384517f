"""The position in a durable log that somebody else writes. Which pipeline that is, it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final
from uuid import UUID

from holdfast.model.positions.base import Order, Places, Position, order_of
from holdfast.model.positions.checks import invalid, number_in, shown, string, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json


@final
@dataclass(frozen=True, slots=True)
class LogPosition(Position):
    """The number of the last event that is done, in the log of this uuid. Numbers of different logs have no order."""

    kind: ClassVar[str] = "log"
    field_names: ClassVar[frozenset[str]] = frozenset({"log", "seq"})

    log: str
    seq: int

    def __post_init__(self) -> None:
        whole_number(self.kind, "seq", self.seq)
        if not _is_uuid(string(self.kind, "log", self.log)):
            raise invalid(self.kind, f"{shown(self.log)} is not the uuid of a log")

    def compare(self, other: Position) -> Order:
        """By number, within one log."""
        if not isinstance(other, LogPosition) or other.log != self.log:
            return Order.INCOMPARABLE
        return order_of(self.seq, other.seq)

    def at_row(self, rows: Places, row: int) -> LogPosition:
        """Events say only their number: they are all of this log."""
        return LogPosition(self.log, number_in(self.kind, rows[row]))

    def __str__(self) -> str:
        return f"{self.log}:{self.seq}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads the uuid and the number with a colon between."""
        log, colon, seq = text.partition(":")
        if not colon:
            raise invalid(cls.kind, f"{shown(text)} is not a uuid and a number with a colon between")
        return cls(log, number_in(cls.kind, seq))

    def to_fields(self) -> dict[str, Json]:
        """Both, as they are."""
        return {"log": self.log, "seq": self.seq}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls(string(cls.kind, "log", fields["log"]), whole_number(cls.kind, "seq", fields["seq"]))


def _is_uuid(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
