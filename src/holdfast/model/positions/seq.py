"""The position in an inbox: the number of its last event that is done. What an inbox is, it does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of
from holdfast.model.positions.checks import number_in, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json


@final
@dataclass(frozen=True, slots=True)
class Seq(Position):
    """An inbox's sequence number, 0 to 2^63 - 1; 0 means that nothing is done yet. Totally ordered."""

    kind: ClassVar[str] = "seq"
    field_names: ClassVar[frozenset[str]] = frozenset({"seq"})

    value: int

    def __post_init__(self) -> None:
        whole_number(self.kind, "seq", self.value)

    def compare(self, other: Position) -> Order:
        """By number."""
        return order_of(self.value, other.value) if isinstance(other, Seq) else Order.INCOMPARABLE

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads decimal digits."""
        return cls(number_in(cls.kind, text))

    def to_fields(self) -> dict[str, Json]:
        """The number as it is."""
        return {"seq": self.value}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls(whole_number(cls.kind, "seq", fields["seq"]))
