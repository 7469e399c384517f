"""Positions that are one number, handed out upwards by whatever keeps the events. What that is, they do not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of
from holdfast.model.positions.checks import number_in, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json


@dataclass(frozen=True, slots=True)
class _Number(Position):
    """A number, 0 to 2^63 - 1; 0 means that nothing is done yet. Totally ordered within its kind."""

    value: int

    def __post_init__(self) -> None:
        whole_number(self.kind, self.kind, self.value)

    def compare(self, other: Position) -> Order:
        """By number."""
        return order_of(self.value, other.value) if isinstance(other, type(self)) else Order.INCOMPARABLE

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads decimal digits."""
        return cls(number_in(cls.kind, text))

    def to_fields(self) -> dict[str, Json]:
        """The number as it is, under the name of its kind."""
        return {self.kind: self.value}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls(whole_number(cls.kind, cls.kind, fields[cls.kind]))


@final
class Seq(_Number):
    """The position in an inbox: the sequence number of its last event that is done."""

    __slots__ = ()
    kind: ClassVar[str] = "seq"
    field_names: ClassVar[frozenset[str]] = frozenset({"seq"})


@final
class ChangeId(_Number):
    """The position in a Turso or SQLite change table: the id of the last change that is done."""

    __slots__ = ()
    kind: ClassVar[str] = "change_id"
    field_names: ClassVar[frozenset[str]] = frozenset({"change_id"})
