"""What a log of commit documents needs from the place where it lies: names that can be taken only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.checkpoint.contract import Durability


class Medium(Protocol):
    """A place for documents and blobs. Names are relative and have at most one folder."""

    durability: Durability

    def where(self, name: str = "") -> str:
        """How an error names the place, or a name in it."""

    def read(self, name: str) -> bytes | None:
        """The bytes under a name, or None when there are none."""

    def create(self, name: str, data: bytes) -> bool:
        """Store durably under a name that is free and say whether it was; `CommitStateUnknown` when nobody knows."""

    def newest(self, known: int) -> int:
        """The highest commit number published, at least `known`, at a cost that does not grow with the history."""

    def numbers(self) -> list[int]:
        """All commit numbers present, sorted."""

    def blobs(self) -> list[str]:
        """The names of all blobs present."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove what is there of these names; `newest` never forgets the commit numbers among them."""

    def strangers(self) -> list[str]:
        """What lies in the place and cannot be part of a store."""

    def found(self) -> None:
        """Make the place ready for a store, durably; does nothing where it is ready."""
