"""The values by which two tiers know what they have of each other, and which of them is ahead. No I/O.

Every copy to the remote tier is one commit that also writes a *manifest*: the owner's epoch, the number of the copy
(`cut`), and for every key the version of the local tier that it holds. The local tier keeps the newest manifest it
knows to be remote, under the same key; that is its *record*.

Which tier is ahead
-------------------
Manifest and record are compared by (epoch, cut), never by a clock: two hosts' clocks are not comparable, and a restored
disk brings its old times along.

* Not above the record: the local tier holds everything the remote one does.
* A higher epoch: another host has taken over and written since, or this disk is an old copy. The local tier is behind.
* The same epoch and a higher cut: this owner wrote it. Either it died before the record was written, and then its local
  versions are there; or the disk was replaced by an older copy, and then they are not, though a later owner may have
  used their numbers again. Number, epoch, size and checksum tell which.

An epoch is written into the record before anything is copied under it, so an owner never mistakes itself for another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.checkpoint.contract import Version
from holdfast.model.errors import CheckpointDamaged, UnknownFormat

FORMAT = 1
RESERVED = "holdfast:replica"
"""The key of the manifest in the remote tier and of the record in the local one; nobody else may write it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a copy: the version of the local tier, and by what its payload is found in the remote one."""

    number: int
    size: int
    checksum: int

    @classmethod
    def of(cls, version: Version) -> Entry:
        """The entry for a version of the local tier."""
        return cls(version.number, version.size, version.checksum)

    def describes(self, version: Version) -> bool:
        """Whether a version of either tier has this payload."""
        return (self.size, self.checksum) == (version.size, version.checksum)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the remote tier holds after one copy."""

    epoch: int = 0
    cut: int = 0
    entries: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def mark(self) -> tuple[int, int]:
        """What copies are ordered by."""
        return self.epoch, self.cut

    def next(self, epoch: int, changed: Mapping[str, Entry | None]) -> Manifest:
        """The manifest of the copy after this one; None removes a key."""
        merged = {**self.entries, **changed}
        return Manifest(epoch, self.cut + 1, {key: entry for key, entry in merged.items() if entry is not None})

    def claimed(self, epoch: int) -> Manifest:
        """The same content under a new owner."""
        return replace(self, epoch=epoch)

    def number(self, key: str) -> int:
        """The local version of `key` that is remote; 0 when none is."""
        return self.entries[key].number if key in self.entries else 0


NOTHING = Manifest()
"""What stands in an empty tier."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was read of a manifest."""

    manifest: Manifest = NOTHING
    version: int = 0
    """Its version in the store; 0 when there is none."""
    is_damaged: bool = False
    """The newest one cannot be read, and this is an older one."""


def is_behind(local: Mapping[str, Sequence[Version]], record: Manifest, remote: Found, former_epoch: int) -> bool:
    """Whether the local tier lacks something that the remote one has.

    :param local: the versions of each key of the local tier, oldest first.
    :param former_epoch: who owned the remote tier before this owner; decides when its newest manifest is damaged.
    """
    if remote.is_damaged and former_epoch > record.epoch:
        return True
    manifest = remote.manifest
    if manifest.mark <= record.mark:
        return False
    if manifest.epoch > record.epoch:
        return True
    changed = {key: entry for key, entry in manifest.entries.items() if record.entries.get(key) != entry}
    return any(not _had(local.get(key, ()), entry, manifest.epoch) for key, entry in changed.items())


def _had(line: Sequence[Version], entry: Entry, epoch: int) -> bool:
    """Whether a key's versions include the one that an owner copied, or go on from it after it was pruned."""
    found = next((version for version in line if version.number >= entry.number), None)
    if found is None or found.epoch > epoch:
        return False
    return found.number > entry.number or entry.describes(found)


def encode(manifest: Manifest) -> bytes:
    """The bytes that are stored."""
    entries = {key: [entry.number, entry.size, entry.checksum] for key, entry in sorted(manifest.entries.items())}
    document = {"format": FORMAT, "epoch": manifest.epoch, "cut": manifest.cut, "entries": entries}
    return json.dumps(document, separators=(",", ":")).encode()


def decode(payload: bytes) -> Manifest:
    """The manifest again; `UnknownFormat` when a newer version wrote it, `CheckpointDamaged` when it is none."""
    try:
        document = json.loads(payload)
        if document["format"] == FORMAT:
            entries = {key: Entry(*numbers) for key, numbers in document["entries"].items()}
            return Manifest(document["epoch"], document["cut"], entries)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointDamaged(
            f"The manifest of the remote tier cannot be read ({type(error).__name__}: {error}).",
            kept="What lies in the remote tier was left as it is.",
            remedy="Go back to an older version of the manifest, or let replication start with an empty remote tier.",
        ) from error
    raise UnknownFormat(
        f"The manifest of the remote tier has format {document['format']}; this version reads format {FORMAT}.",
        remedy="Use the version of Holdfast that wrote it, or a newer one.",
    )
