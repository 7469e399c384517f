"""The whole position of a MySQL source: file and byte, and the GTID set where the server keeps one.

It does not decide which of the two a connection resumes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position
from holdfast.model.positions.binlog import BinlogPosition
from holdfast.model.positions.checks import invalid, shown
from holdfast.model.positions.gtid import GtidSet

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json

_TEXT = re.compile(r"(\S+)(?: gtids=(.*))?", re.DOTALL)


@final
@dataclass(frozen=True, slots=True)
class MysqlPosition(Position):
    """File and byte of one server's log together with the transactions done, which mean the same on every server.

    When both positions have a GTID set, the sets alone decide: after a fail-over the files are another server's, so two
    positions with equal sets are equal wherever their files stand. When neither has one, file and byte decide. When
    only one has, they are incomparable: ordering such pairs by file would make circles, for with a fail-over in
    between (file 10, set 1-100) > (file 5, no set) > (file 2, set 1-150) > (file 10, set 1-100).
    """

    kind: ClassVar[str] = "mysql"
    field_names: ClassVar[frozenset[str]] = frozenset({"file", "pos", "gtids"})

    binlog: BinlogPosition
    gtids: GtidSet | None = None
    """None when the server has GTIDs off; the empty set when it has them on and no transaction is done."""

    def compare(self, other: Position) -> Order:
        """By GTID set where both have one, by file and byte where neither has."""
        if not isinstance(other, MysqlPosition):
            return Order.INCOMPARABLE
        if self.gtids is None and other.gtids is None:
            return self.binlog.compare(other.binlog)
        if self.gtids is None or other.gtids is None:
            return Order.INCOMPARABLE
        return self.gtids.compare(other.gtids)

    def __str__(self) -> str:
        return str(self.binlog) if self.gtids is None else f"{self.binlog} gtids={self.gtids}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads `file:pos` or `file:pos gtids=…`."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise invalid(cls.kind, f"{shown(text)} is neither `file:pos` nor `file:pos gtids=set`")
        gtids = None if match[2] is None else GtidSet.from_text(match[2])
        return cls(BinlogPosition.from_text(match[1]), gtids)

    def to_fields(self) -> dict[str, Json]:
        """The fields of both parts side by side; `gtids` is null where there is no set."""
        return {**self.binlog.to_fields(), "gtids": None if self.gtids is None else str(self.gtids)}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        gtids = None if fields["gtids"] is None else GtidSet.from_fields(fields)
        return cls(BinlogPosition.from_fields(fields), gtids)
