"""The far side of a replicated store: reads and writes whole copies in the remote tier, each with its manifest.

A reader finds the payloads of a manifest by their size and checksum, so it never mixes two copies, also while the owner
goes on writing. When the newest copy is damaged it takes the newest one that is whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put, Update, VersionIs
from holdfast.checkpoint.replication.replica import RESERVED, Entry, Found, Manifest, decode, encode
from holdfast.checkpoint.rules import place
from holdfast.model.errors import CheckpointDamaged, ForeignFile, StoreUnavailable, UnknownKey, UnknownVersion

ATTEMPTS = 100
"""How often the owner may get in between a reader before it gives up."""

_GONE = (CheckpointDamaged, UnknownKey, UnknownVersion)


@dataclass(frozen=True, slots=True)
class RemoteCut:
    """One copy, read back: all its keys as they stood together."""

    manifest: Manifest
    payloads: Mapping[str, bytes] = field(repr=False)
    """Of the keys that were asked for and are part of the copy."""
    damaged: tuple[str, ...] = ()
    """Newer copies that could not be read."""


class RemoteTier:
    """The remote tier of one replicated store.

    :param keep: how many copies of a key stay readable there at least.
    """

    def __init__(self, store: CheckpointStore, keep: int) -> None:
        self.store = store
        self._keep = keep
        self._copies: Counter[str] = Counter()

    def manifest(self) -> Found:
        """The newest manifest that can be read."""
        found = newest_manifest(self.store)
        if found == Found():
            self._refuse_foreign()
        return found

    def write(self, epoch: int, manifest: Manifest, updates: Sequence[Update], base: int | None) -> int:
        """Write a copy in one commit and return the version of its manifest.

        :param base: the version of the manifest that this one follows; None when that cannot be told.
        """
        needs = [] if base is None else [VersionIs(RESERVED, base)]
        written = self.store.commit(Commit(epoch, [*updates, Put(RESERVED, encode(manifest))], needs))
        self._copies.update(key for key, version in written.items() if version)
        return written[RESERVED]

    def forget_old(self, epoch: int) -> None:
        """Forget old copies, but only after as many new ones as are kept: there are never more than twice as many."""
        for key in [key for key, copies in self._copies.items() if copies >= self._keep]:
            self._copies[key] = 0
            self.store.prune(key, keep=self._keep, epoch=epoch)

    def read(self, keys: Collection[str] | None = None) -> RemoteCut | None:
        """The newest copy that can be read, all of it or some keys; None when the tier is empty.

        `CheckpointDamaged` when there are copies and none can be read.
        """
        for _ in range(ATTEMPTS):
            newest = self._newest()
            cut, damaged = self._newest_whole(keys)
            if cut is not None and not damaged:
                return cut
            if self._newest() == newest:
                return self._accept(cut, damaged)
        raise StoreUnavailable(
            f"The remote tier changed {ATTEMPTS} times while it was being read.",
            remedy="Look for a second writer, and try again.",
        )

    def _newest(self) -> int:
        versions = self.store.versions(RESERVED)
        return versions[-1].number if versions else 0

    def _accept(self, cut: RemoteCut | None, damaged: Sequence[str]) -> RemoteCut | None:
        if cut is None and damaged:
            raise CheckpointDamaged(
                f"No copy in the remote tier can be read; damaged: {', '.join(damaged)}.",
                remedy="Run `doctor` on the remote tier, or allow a fresh start by name.",
                damaged=tuple(damaged),
            )
        if cut is None and self.manifest().is_damaged:
            return self._accept(None, ["the newest commit of the remote tier"])
        return cut

    def _newest_whole(self, keys: Collection[str] | None) -> tuple[RemoteCut | None, list[str]]:
        damaged: list[str] = []
        for version in reversed(self.store.versions(RESERVED)):
            try:
                manifest = decode(self.store.get_version(RESERVED, version.number).payload)
                wanted = manifest.entries.keys() if keys is None else manifest.entries.keys() & set(keys)
                payloads = {key: self._payload(key, manifest.entries[key]) for key in wanted}
            except _GONE:
                damaged.append(place(RESERVED, version.number))
                continue
            return RemoteCut(manifest, payloads, tuple(damaged)), damaged
        return None, damaged

    def _payload(self, key: str, entry: Entry) -> bytes:
        """The payload an entry describes: most often the newest one, which one request finds."""
        try:
            newest = self.store.get_raw(key)
            if newest is not None and entry.describes(newest.version):
                return newest.payload
        except CheckpointDamaged:
            pass
        for version in reversed(self.store.versions(key)):
            if entry.describes(version):
                return self.store.get_version(key, version.number).payload
        raise UnknownVersion(f"No version of {key!r} is the one the manifest names.", remedy="Run `doctor`.", key=key)

    def _refuse_foreign(self) -> None:
        if others := self.store.keys():
            raise ForeignFile(
                f"The remote tier holds checkpoints ({others[0]!r} …) that are not copies of a local tier.",
                remedy="Give the remote tier a place of its own, or use that store directly.",
                keys=others,
            )


def newest_manifest(store: CheckpointStore) -> Found:
    """The newest manifest, or record, that can be read in a store."""
    try:
        newest = store.get_raw(RESERVED)
        return Found(decode(newest.payload), newest.version.number) if newest else Found()
    except CheckpointDamaged:
        return _older_manifest(store)


def _older_manifest(store: CheckpointStore) -> Found:
    with suppress(CheckpointDamaged):
        for version in reversed(store.versions(RESERVED)):
            with suppress(*_GONE):
                stored = store.get_version(RESERVED, version.number)
                return Found(decode(stored.payload), version.number, is_damaged=True)
    return Found(is_damaged=True)
