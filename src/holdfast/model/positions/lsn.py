"""The position in PostgreSQL's write-ahead log. It knows neither slots nor timelines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of
from holdfast.model.positions.checks import INT64_MAX, invalid, shown, string, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json

_TEXT = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")
_REMEDY = "Copy the LSN as PostgreSQL prints it, for example 16/B374D848."


@final
@dataclass(frozen=True, slots=True)
class Lsn(Position):
    """A log sequence number: a byte of the log, 64 bit. Totally ordered, by number and never by text."""

    kind: ClassVar[str] = "lsn"
    field_names: ClassVar[frozenset[str]] = frozenset({"lsn"})

    value: int

    def __post_init__(self) -> None:
        whole_number(self.kind, "lsn", self.value, most=INT64_MAX)

    def compare(self, other: Position) -> Order:
        """By number."""
        return order_of(self.value, other.value) if isinstance(other, Lsn) else Order.INCOMPARABLE

    def __str__(self) -> str:
        return f"{self.value >> 32:X}/{self.value & 0xFFFFFFFF:X}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads PostgreSQL's text form, with or without leading zeros, in either case."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise invalid(cls.kind, f"{shown(text)} is not two hexadecimal halves with a slash between", remedy=_REMEDY)
        return cls(int(match[1], 16) << 32 | int(match[2], 16))

    def to_fields(self) -> dict[str, Json]:
        """The text form, since a 64 bit number does not survive every JSON reader."""
        return {"lsn": str(self)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        return cls.from_text(string(cls.kind, "lsn", fields["lsn"]))
