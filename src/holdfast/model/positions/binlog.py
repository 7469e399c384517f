"""The position in a MySQL server's binary log, as file and byte. GTIDs are the business of `gtid`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of
from holdfast.model.positions.checks import INT31_MAX, INT64_MAX, invalid, shown, string, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json

_FILE = re.compile(r"[^\s/\\]+\.([0-9]{6}|[1-9][0-9]{6,9})")
_TEXT = re.compile(r"(.+):([0-9]{1,20})")
_LONGEST_NAME = 512
_REMEDY = "Copy the file name as SHOW BINARY LOGS prints it, for example mysql-bin.000042."


@final
@dataclass(frozen=True, slots=True)
class BinlogPosition(Position):
    """A binary log file and the byte in it at which the next event starts.

    Files are ordered by their number: mysql-bin.1000000 comes after mysql-bin.999999, although its text sorts first.
    Files of different base names belong to different logs and are incomparable.
    """

    kind: ClassVar[str] = "binlog"
    field_names: ClassVar[frozenset[str]] = frozenset({"file", "pos"})

    file: str
    pos: int

    def __post_init__(self) -> None:
        _check_file(string(self.kind, "file", self.file))
        whole_number(self.kind, "pos", self.pos, most=INT64_MAX)

    def compare(self, other: Position) -> Order:
        """By the number of the file, then by the byte."""
        if not isinstance(other, BinlogPosition):
            return Order.INCOMPARABLE
        if self.file == other.file:
            return order_of(self.pos, other.pos)
        my_base, _, my_number = self.file.rpartition(".")
        their_base, _, their_number = other.file.rpartition(".")
        return order_of(int(my_number), int(their_number)) if my_base == their_base else Order.INCOMPARABLE

    def __str__(self) -> str:
        return f"{self.file}:{self.pos}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads `file:pos`."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise invalid(cls.kind, f"{shown(text)} is not a file name and a byte with a colon between", remedy=_REMEDY)
        return cls(match[1], int(match[2]))

    def to_fields(self) -> dict[str, Json]:
        """File and byte as they are."""
        return {"file": self.file, "pos": self.pos}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        file = string(cls.kind, "file", fields["file"])
        return cls(file, whole_number(cls.kind, "pos", fields["pos"], most=INT64_MAX))


def _check_file(file: str) -> None:
    """MySQL pads a number to six digits and no further, so a file has one name only."""
    match = _FILE.fullmatch(file)
    if match is None or not file.isprintable() or len(file) > _LONGEST_NAME or int(match[1]) > INT31_MAX:
        raise invalid(BinlogPosition.kind, f"{shown(file)} is not the name of a binary log file", remedy=_REMEDY)
