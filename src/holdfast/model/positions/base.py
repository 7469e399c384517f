"""What all positions share: an order that admits that two positions may have none, and the earliest of several.

Two positions that cannot be ordered are never ordered by a guess, so there is no `<` on positions. This module knows no
kind of position; the stored form is the business of `codec`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from holdfast.model.errors import IncomparablePositions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json


class Order(Enum):
    """How one position stands to another."""

    BEFORE = "before"
    EQUAL = "equal"
    """The same place. The values may still differ in what does not order them, as an inode; `==` compares all."""
    AFTER = "after"
    INCOMPARABLE = "incomparable"


# Comparing is the ledger's hottest call, and reading a member off an Enum costs more than the comparison (Python 3.11).
_BEFORE, _EQUAL, _AFTER = Order.BEFORE, Order.EQUAL, Order.AFTER


class Places(Protocol):
    """What consecutive events say about where they stand in their source, as text."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, row: int, /) -> str:
        """What one of them says."""

    def alike_until(self, row: int, beginning: str) -> int:
        """The first of them from `row` on that does not begin like this; it is not searched one by one."""


class Position(ABC):
    """Where a source stands. A value: frozen, hashable, and valid from its construction on.

    A position names what is *done*: reading goes on right behind it.
    """

    __slots__ = ()

    kind: ClassVar[str]
    """The name of this kind in stored positions; it never changes."""
    version: ClassVar[int] = 1
    """The newest version of the stored form."""
    field_names: ClassVar[frozenset[str]]
    """The fields of the stored form, besides `kind` and `v`."""

    @abstractmethod
    def compare(self, other: Position) -> Order:
        """How this position stands to `other`; positions of different kinds are incomparable."""

    def at_or_after(self, other: Position) -> bool:
        """Whether all that `other` covers is covered by this position too; False when they are incomparable."""
        order = self.compare(other)
        return order is _AFTER or order is _EQUAL

    def at_row(self, rows: Places, row: int) -> Position:
        """Where the source stood after one of the events that led up to this position.

        :param rows: what those events say about their place, in order. For most kinds that is the whole position.
        """
        return self.from_text(rows[row])

    @abstractmethod
    def __str__(self) -> str:
        """The text form, which `from_text` reads again."""

    @classmethod
    @abstractmethod
    def from_text(cls, text: str) -> Self:
        """The position that `text` names, or `InvalidPosition`."""

    @abstractmethod
    def to_fields(self) -> dict[str, Json]:
        """The values of `field_names`, for the stored form."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """The position of exactly `field_names`, whose values may be anything, or `InvalidPosition`."""


P = TypeVar("P", bound=Position)


def earliest(positions: Iterable[P]) -> P:
    """The position that is at or before every other one; the first such one when several are equal.

    Raises `IncomparablePositions` when none is, and `ValueError` when there are no positions, as `min` does.
    """
    candidates = list(positions)
    if not candidates:
        message = "There is no earliest of no positions."
        raise ValueError(message)
    least = _without_predecessor(candidates)
    for candidate in candidates:
        if not candidate.at_or_after(least):
            raise _incomparable(least, candidate)
    return least


def order_of(mine: int, theirs: int) -> Order:
    """The order of two numbers."""
    if mine < theirs:
        return _BEFORE
    return _EQUAL if mine == theirs else _AFTER


def order_of_containment(*, covers: bool, covered: bool) -> Order:
    """The order of two positions of which the first `covers` the second, is `covered` by it, or both, or neither."""
    if covers:
        return Order.EQUAL if covered else Order.AFTER
    return Order.BEFORE if covered else Order.INCOMPARABLE


def _without_predecessor(candidates: list[P]) -> P:
    least = candidates[0]
    for candidate in candidates:
        if candidate.compare(least) is Order.BEFORE:
            least = candidate
    return least


def _incomparable(one: Position, other: Position) -> IncomparablePositions:
    return IncomparablePositions(
        f"The positions {one.kind} {one} and {other.kind} {other} have no order, so none of them is the earliest.",
        remedy="Compare positions of one source only, or choose the one to go on from yourself.",
        one=one,
        other=other,
    )
