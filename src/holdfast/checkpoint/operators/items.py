"""What travels between operators, and what a user writes: an operator, a source.

Values and protocols only. Sequence numbers start at 1 and count the items of one input without gaps; a replay gives an
item the number it had before. That, and operators whose outputs follow from their items alone (no clock, no chance),
is what lets a later run repeat an earlier one, and what lets a repeat be recognised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Offset: TypeAlias = "int | str | Mapping[str, JsonValue]"
"""Where a source continues after an item: a number, or the JSON form of a position."""

Buffer: TypeAlias = bytes | bytearray | memoryview

T_co = TypeVar("T_co", covariant=True)
In_contra = TypeVar("In_contra", contravariant=True)
Out_co = TypeVar("Out_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Item(Generic[T_co]):
    """One value on one input."""

    input: str
    seq: int
    value: T_co
    offset: Offset
    """Where the input's source continues after this item."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """Divides the items that belong to a snapshot from those that do not."""

    snapshot_id: int


@dataclass(frozen=True, slots=True)
class End:
    """Nothing follows on this input."""


class Operator(Protocol[In_contra, Out_co]):
    """A step with state. Called by one task at a time, never while a call is under way."""

    def apply(self, item: Item[In_contra]) -> Iterable[Out_co]:
        """Take the item into the state and give the outputs it causes."""

    def snapshot(self) -> Sequence[Buffer]:
        """The state as buffers. They are copied before the next `apply`, so views of live memory are right here."""

    def restore(self, buffers: Sequence[memoryview]) -> None:
        """Become what `snapshot` saw. Called at most once, before the first `apply`."""


@runtime_checkable
class HearsOfCompletion(Protocol):
    """An operator that makes its results visible outside only when the snapshot that holds them is complete.

    In aligned mode this is how effects outside the flow happen once: keep results as pending in the state, publish
    here those that the last call of `snapshot` (or `restore`) saw, under the id, and let the outside refuse an id that
    it already has.

    Once does not hold when a restart must go back behind a complete snapshot: because it is damaged, or because its
    disk was lost before it was copied to the remote tier. Results since then come again, under ids that are new.
    """

    def completed(self, snapshot_id: int) -> None:
        """The snapshot is complete. Told again after a restart. Later snapshots have higher ids, always."""


class Source(Protocol[T_co]):
    """Something that can be read again from an offset, in the same order."""

    def read(self, after: Offset | None) -> AsyncGenerator[tuple[T_co, Offset], None]:
        """The values behind `after` (all of them for None), each with the offset to continue after it."""
