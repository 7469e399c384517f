"""What every checkpoint store promises, and the values it speaks in.

A commit is a list of *requirements* that must hold and a list of *updates* that are then applied, all or none. Every
commit carries the writer's fencing epoch and is refused when the store has seen a newer one. A key keeps its versions;
going back to an older one writes it again as the newest, so history is never rewritten.

This module does no I/O. A backend implements `_read`, `_commit` and their neighbours; callers use the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from holdfast.checkpoint.difference import Change, difference
from holdfast.model.closing import Closing
from holdfast.model.errors import CheckpointDamaged, HoldfastError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

T = TypeVar("T")


class Durability(Enum):
    """What a commit survives once it has returned."""

    PROCESS = "nothing beyond this process"
    CRASH = "kill -9 of every process on the host"
    POWER_LOSS = "loss of power: data and directory are synced before the commit returns"
    REMOTE = "loss of this host: the server answered that it is stored"


class Origin(Enum):
    """How a version came to be the newest one."""

    PUT = "put"
    ROLLBACK = "rollback"
    """An operator went back to an older version."""
    FALLBACK = "fallback"
    """The newest version was damaged and the one before it took its place."""
    MIGRATION = "migration"
    """A store of an older format was read and written anew."""


@dataclass(frozen=True, slots=True)
class Put:
    """Writes `payload` as the newest version of `key`."""

    key: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Removes `key` and all its versions. A later put goes on counting where the versions ended."""

    key: str


@dataclass(frozen=True, slots=True)
class RollBack:
    """Writes an older version of `key` again as the newest one."""

    key: str
    version: int
    origin: Origin = Origin.ROLLBACK


Update = Put | Delete | RollBack


@dataclass(frozen=True, slots=True)
class VersionIs:
    """Holds when the newest version of `key` is `version`; 0 means that the key is absent."""

    key: str
    version: int


Requirement = VersionIs


@dataclass(frozen=True, slots=True)
class Commit:
    """Requirements that must hold and updates to apply, all or none, under one epoch."""

    epoch: int
    updates: Sequence[Update]
    requirements: Sequence[Requirement] = ()


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a key, without its payload."""

    key: str
    number: int
    created_at: datetime
    size: int
    """Bytes of the payload as the caller gave it, before compression."""
    checksum: int
    """CRC32C of the payload as the caller gave it."""
    epoch: int
    origin: Origin = Origin.PUT
    restored_from: int | None = None
    """For a rollback or a fallback: the version whose payload this one repeats."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A version together with its payload, verified against its checksum."""

    version: Version
    payload: bytes = field(repr=False)


class Codec(Protocol[T]):
    """Turns a value into bytes and back; `decode(encode(x)) == x`."""

    def encode(self, value: T) -> bytes:
        """The bytes that are stored."""

    def decode(self, payload: bytes) -> T:
        """The value again, or `UnknownFormat` or `InvalidPosition` when the bytes are not one."""


@dataclass(frozen=True, slots=True)
class TypedKey(Generic[T]):
    """A key whose payload has a type."""

    name: str
    codec: Codec[T]


def value_of(key: TypedKey[T], payload: bytes) -> T:
    """The value of a payload; `CheckpointDamaged` when its codec can make nothing of it.

    The bytes are those that were written, but somebody may have written others: a newer version, or an import.
    """
    try:
        return key.codec.decode(payload)
    except HoldfastError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, RecursionError) as error:
        raise CheckpointDamaged(
            f"The checkpoint {key.name!r} is whole and cannot be understood ({type(error).__name__}: {error}).",
            kept="It was left as it is, and nothing was started in its place.",
            remedy="Start the version of Holdfast that wrote it, or roll the key back to an older version.",
            key=key.name,
        ) from error


class CheckpointStore(Closing):
    """Versioned, fenced storage of small values by key. Safe to share between threads.

    Keys are 1 to 200 characters of `a-z A-Z 0-9 . _ - / :`, not starting with `/` or `.` and without `..`
    (`InvalidKey` otherwise). All methods may raise `StoreUnavailable`; reads may raise `CheckpointDamaged`; writes may
    raise `Fenced`, `UnknownEpoch`, `StoreFull`, `StoreReadOnly` and `CommitStateUnknown`. After `close`, everything
    but `close` raises `StoreClosed`; so does, in a forked child, a store that must not be carried across a fork.
    """

    durability: Durability
    supports_versioning: bool = True

    # Ownership

    @abstractmethod
    def epoch(self) -> int:
        """The newest epoch the store has seen; 0 for a new store."""

    @abstractmethod
    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner: durably raises the epoch above every earlier one and returns it.

        :param at_least: the new epoch is not lower than this; a replicated store keeps two stores in step with it.
        """

    # Reading

    @abstractmethod
    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""

    @abstractmethod
    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent. Never an older one in its place."""

    @abstractmethod
    def versions(self, key: str) -> list[Version]:
        """The versions kept of `key`, oldest first; empty when it is absent. Damaged payloads are listed too."""

    @abstractmethod
    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key`; `UnknownKey` or `UnknownVersion` when it is not kept."""

    # Writing

    @abstractmethod
    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit and return the newest version of each key it wrote (0 for a deleted one).

        `RequirementFailed`, `Fenced` and `UnknownEpoch` mean that nothing was written; a key may stand in at most one
        update (`InvalidCommit`). The epoch must be the newest one that `take_over` returned; it is checked first.
        """

    @abstractmethod
    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget all but the newest `keep` (at least 1) versions of `key` and return how many went.

        The floor: the newest version is never pruned, nor the newest *readable* one.
        """

    @abstractmethod
    def close(self) -> None:
        """Give up connections and files. Closing twice is fine."""

    # Conveniences, the same for all backends

    def get(self, key: TypedKey[T]) -> T | None:
        """The newest value of a typed key, or None when it is absent."""
        stored = self.get_raw(key.name)
        return None if stored is None else value_of(key, stored.payload)

    def put(self, key: TypedKey[T], value: T, *, epoch: int) -> int:
        """Write the value of a typed key and return its version."""
        return self.put_raw(key.name, key.codec.encode(value), epoch=epoch)

    def put_raw(self, key: str, payload: bytes, *, epoch: int) -> int:
        """Write one key and return its version."""
        return self.commit(Commit(epoch, [Put(key, payload)]))[key]

    def delete(self, key: str, *, epoch: int) -> bool:
        """Remove one key and say whether it was there."""
        present = bool(self.versions(key))
        self.commit(Commit(epoch, [Delete(key)]))
        return present

    def roll_back(self, key: str, version: int, *, epoch: int) -> int:
        """Write `version` of `key` again as the newest one and return its number."""
        return self.commit(Commit(epoch, [RollBack(key, version)]))[key]

    def diff(self, key: str, older: int, newer: int) -> tuple[Change, ...]:
        """What changed from one version of `key` to another."""
        return difference(self.get_version(key, older).payload, self.get_version(key, newer).payload)
