"""A version as it lies in a store: what is known about it, and its payload still sealed. No I/O."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Stored, Version
from holdfast.checkpoint.envelope import unseal
from holdfast.checkpoint.rules import place
from holdfast.model.errors import CheckpointDamaged

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.checkpoint.contract import Origin
    from holdfast.checkpoint.envelope import Sealed


@dataclass(frozen=True, slots=True)
class Kept:
    """A version and its sealed payload."""

    version: Version
    sealed: Sealed

    @classmethod
    def put(cls, key: str, number: int, sealed: Sealed, *, now: datetime, epoch: int) -> Kept:
        """A version that a caller's payload becomes."""
        return cls(Version(key, number, now, sealed.size, sealed.checksum, epoch), sealed)

    def again(self, number: int, origin: Origin, *, now: datetime, epoch: int) -> Kept:
        """The same payload, once it is verified, as a newer version."""
        self.read()
        restored_from = self.version.number
        newer = replace(
            self.version, number=number, created_at=now, epoch=epoch, origin=origin, restored_from=restored_from
        )
        return Kept(newer, self.sealed)

    def read(self) -> Stored:
        """The version with its payload, verified against its checksum."""
        return Stored(self.version, unseal(self.sealed, where=place(self.version.key, self.version.number)))

    def is_readable(self) -> bool:
        """Whether the payload still matches its checksum."""
        try:
            self.read()
        except CheckpointDamaged:
            return False
        return True
