"""The position in one Kafka topic: the next offset of each partition. It knows no topic name and no consumer group."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of_containment
from holdfast.model.positions.checks import INT31_MAX, invalid, shown, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json

_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}")
_ENTRY = re.compile(r"([0-9]{1,10}):([0-9]{1,19})")


@final
@dataclass(frozen=True, slots=True)
class KafkaOffsets(Position):
    """The offset to read next, by partition. Ordered partition by partition, which is a partial order.

    A partition that is missing has not begun and counts as 0 in the order. A 0 that was given is kept all the same: to
    a consumer, 0 means "from the start" and nothing means its reset policy. Pairs may be given in any order.
    """

    kind: ClassVar[str] = "kafka"
    field_names: ClassVar[frozenset[str]] = frozenset({"offsets"})

    offsets: tuple[tuple[int, int], ...] = ()
    """Pairs of partition and next offset, sorted; `dict(position.offsets)` is the mapping."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", tuple(sorted(_checked(pair) for pair in self.offsets)))
        if len(dict(self.offsets)) < len(self.offsets):
            raise invalid(self.kind, "it names a partition twice")

    def compare(self, other: Position) -> Order:
        """Partition by partition."""
        if not isinstance(other, KafkaOffsets):
            return Order.INCOMPARABLE
        return order_of_containment(covers=_covers(self, other), covered=_covers(other, self))

    def __str__(self) -> str:
        return ",".join(f"{partition}:{offset}" for partition, offset in self.offsets)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads `partition:offset,partition:offset`; the empty text is the position in which nothing has begun."""
        return cls(tuple(_read_entry(entry) for entry in text.split(","))) if text else cls()

    def to_fields(self) -> dict[str, Json]:
        """An object from partition to next offset."""
        return {"offsets": {str(partition): offset for partition, offset in self.offsets}}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        offsets = fields["offsets"]
        if not isinstance(offsets, dict):
            raise invalid(cls.kind, f"its offsets must be an object from partition to offset, not {shown(offsets)}")
        return cls(tuple(_from_items(offsets.items())))


def _covers(whole: KafkaOffsets, part: KafkaOffsets) -> bool:
    reached = dict(whole.offsets)
    return all(reached.get(partition, 0) >= offset for partition, offset in part.offsets)


def _checked(pair: tuple[int, int]) -> tuple[int, int]:
    partition, offset = pair
    return (
        whole_number(KafkaOffsets.kind, "partition", partition, most=INT31_MAX),
        whole_number(KafkaOffsets.kind, "offset", offset),
    )


def _read_entry(entry: str) -> tuple[int, int]:
    match = _ENTRY.fullmatch(entry)
    if match is None:
        raise invalid(KafkaOffsets.kind, f"{shown(entry)} is not of the form `partition:offset`")
    return int(match[1]), int(match[2])


def _from_items(items: Iterable[tuple[object, object]]) -> Iterable[tuple[int, int]]:
    for partition, offset in items:
        if not isinstance(partition, str) or not _PARTITION.fullmatch(partition):
            raise invalid(KafkaOffsets.kind, f"{shown(partition)} is not a partition number without leading zeros")
        yield int(partition), whole_number(KafkaOffsets.kind, "offset", offset)
