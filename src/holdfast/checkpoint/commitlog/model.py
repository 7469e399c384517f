"""The values that a log of commit documents is made of. What is done with them is in `planning`. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.checkpoint.contract import Version
from holdfast.checkpoint.envelope import Encoding


@dataclass(frozen=True, slots=True)
class Record:
    """One version of a key and the place where its payload lies."""

    version: Version
    commit: int
    nonce: str
    """Of the document that wrote it: a document of the same number by somebody else is not the one meant."""
    encoding: Encoding
    blob: str | None
    """The payload's own file; None when it lies in the document."""

    @property
    def number(self) -> int:
        """The number of the version."""
        return self.version.number


@dataclass(frozen=True, slots=True)
class Chain:
    """The versions of one key, as far as one document knows them."""

    last: int
    """The highest version number ever used, also by versions that were deleted."""
    floor: int
    """Versions below it are forgotten …"""
    spared: Record | None = None
    """… except this one, the newest that could be read when all above it were damaged."""
    trail: tuple[Record, ...] = ()
    """The newest versions, newest first; empty for a deleted key."""

    def keeps(self, number: int) -> bool:
        """Whether a version of the key is still kept."""
        return bool(self.trail) and (number >= self.floor or (self.spared is not None and number == self.spared.number))


@dataclass(frozen=True, slots=True)
class Doubt:
    """Documents that nobody could read, and the keys that were written since."""

    commits: tuple[int, ...]
    settled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reign:
    """An owner, and the commit with which it took over."""

    epoch: int
    since: int


@dataclass(frozen=True, slots=True)
class Document:
    """One commit, and with it the state of the whole store."""

    number: int
    epoch: int
    created_at: datetime | None
    nonce: str
    chains: Mapping[str, Chain]
    doubt: Doubt | None = None
    reigns: tuple[Reign, ...] = ()
    """The newest owners, oldest first."""
    payloads: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """The small payloads this commit wrote, as they were sealed."""

    def written(self) -> list[Record]:
        """The versions that this commit wrote."""
        newest = (chain.trail[0] for chain in self.chains.values() if chain.trail)
        return [record for record in newest if record.commit == self.number]

    def rules_out(self, other: Document) -> bool:
        """Whether another document cannot be part of the log: a newer owner than its own reigned at its number."""
        return any(reign.epoch > other.epoch and reign.since <= other.number for reign in self.reigns)


GENESIS = Document(number=0, epoch=0, created_at=None, nonce="", chains={})
"""What a store without documents stands on."""


@dataclass(frozen=True, slots=True)
class View:
    """What a reader found: the newest whole document, and the numbers above it that it could not read."""

    document: Document
    damaged: tuple[int, ...] = ()

    @property
    def newest(self) -> int:
        """The highest number that is taken."""
        return self.damaged[-1] if self.damaged else self.document.number

    @property
    def doubt(self) -> Doubt | None:
        """What the next document has to remember of the damage."""
        if not self.damaged:
            return self.document.doubt
        earlier = self.document.doubt.commits if self.document.doubt else ()
        return Doubt(earlier + self.damaged)

    def in_doubt(self, key: str) -> tuple[int, ...]:
        """The unreadable commits that may have written `key` since it was last seen."""
        return self.doubt.commits if self.doubt and key not in self.doubt.settled else ()

    def trail(self, key: str) -> tuple[Record, ...]:
        """The newest versions of `key`; empty when it is absent."""
        chain = self.document.chains.get(key)
        return chain.trail if chain else ()

    def present(self) -> dict[str, int]:
        """The newest version of each key that is present."""
        return {key: chain.trail[0].number for key, chain in self.document.chains.items() if chain.trail}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a decision needs from outside."""

    now: datetime
    nonce: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to publish, and the payloads that must be stored before it."""

    document: Document
    keys: frozenset[str] = frozenset()
    """The keys it writes or deletes."""
    blobs: Mapping[str, bytes] = field(default_factory=dict, repr=False)


def blob_name(number: int, nonce: str, index: int) -> str:
    """Where a large payload lies; the number tells which commit it waits for, so that a sweep can tell it is late."""
    return f"blobs/{number:020d}-{nonce}-{index}"
