"""Decides from where a start goes on: the local tier, an older version of it, the remote tier, or nothing at all.

The route is `local`, then `remote`, then `fresh`; it is logged and counted. Three rules bind it:

* *Together.* The keys of one call come from one commit or none do. Name all keys that belong together.
* *Never fresh unasked.* Fresh needs proof that there is nothing: no version, no damage, and a remote tier that was
  reached. Damage with nothing readable raises `CheckpointDamaged`, a remote tier that cannot be reached while the local
  one is empty raises `StoreUnavailable`, and only `Fresh.ALLOWED` turns these into a fresh start.
* *Never behind the remote tier.* Sources may have been told that they can forget what is in the remote tier. So an
  older local version is taken only when the remote tier has nothing newer; otherwise the remote copy is.

Which tier is newer is decided by epochs, copies and versions; see `replica`. Call `take_over` first: only an
owner may record that it fell back.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from holdfast.checkpoint.contract import CheckpointStore, Commit, Delete, Origin, RollBack, Stored, Update
from holdfast.checkpoint.replication.counting import LabelledCounter
from holdfast.checkpoint.replication.fallback import LocalCut, newest_cut
from holdfast.checkpoint.replication.pulling import pull, read_remote, start_afresh
from holdfast.checkpoint.replication.remotetier import RemoteCut
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Standing
from holdfast.checkpoint.replication.tiers import Tiers
from holdfast.checkpoint.rules import check_epoch
from holdfast.model.errors import CheckpointDamaged, StoreUnavailable


class RecoveryPath(Enum):
    """From where a start goes on."""

    LOCAL = "local"
    LOCAL_FALLBACK = "local_fallback"
    """An older version of the local tier, because the newest is damaged; recorded as `Origin.FALLBACK`."""
    REMOTE = "remote"
    FRESH = "fresh"


class Fresh(Enum):
    """Whether a start from nothing is accepted although something may have been there."""

    REFUSED = "refused"
    ALLOWED = "allowed"


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a start goes on with."""

    path: RecoveryPath
    values: Mapping[str, Stored] = field(repr=False, default_factory=dict)
    """The newest version of each key, as it now stands in the local tier; a key that is absent is missing."""
    damaged: tuple[str, ...] = ()
    """What could not be read and was passed over."""

    def payload(self, key: str) -> bytes | None:
        """The payload of one key, or None when it is absent."""
        return self.values[key].payload if key in self.values else None


def recover(
    store: CheckpointStore,
    keys: Sequence[str],
    *,
    epoch: int,
    paths: LabelledCounter,
    fresh: Fresh = Fresh.REFUSED,
    log: logging.Logger | None = None,
) -> Recovered:
    """Read `keys` as they stood together, by the best route there is.

    :param epoch: what `take_over` returned; a fallback is written under it.
    :param paths: counts the route, as `recovery_path_total{path}`.
    """
    check_epoch(epoch, store.epoch())
    if isinstance(store, ReplicatedStore):
        store.tiers.check_owner(epoch)
    recovered = _Recovery(store, keys, epoch, fresh).run()
    paths.add(path=recovered.path.value)
    level = logging.INFO if recovered.path is RecoveryPath.LOCAL else logging.WARNING
    versions = {key: stored.version.number for key, stored in recovered.values.items()}
    (log or logging.getLogger(__name__)).log(
        level,
        "checkpoints.recovery path=%s epoch=%d versions=%s damaged=%s",
        recovered.path.value,
        epoch,
        versions,
        list(recovered.damaged),
    )
    return recovered


class _Recovery:
    """One search."""

    def __init__(self, store: CheckpointStore, keys: Sequence[str], epoch: int, fresh: Fresh) -> None:
        self._store = store
        self._tiers = store.tiers if isinstance(store, ReplicatedStore) else None
        self._local = self._tiers.local if self._tiers else store
        self._keys = keys
        self._epoch = epoch
        self._fresh = fresh

    def run(self) -> Recovered:
        if self._tiers and self._tiers.standing is Standing.BEHIND:
            return self._remote_ahead(self._tiers)
        cut = newest_cut(self._local, self._keys)
        if cut.is_newest and cut.found:
            return Recovered(RecoveryPath.LOCAL, cut.found)
        return self._nothing_local() if cut.is_newest else self._damaged_local(cut)

    # The local tier is empty

    def _nothing_local(self) -> Recovered:
        """In step with the remote tier there is nothing there either: that was found out at the takeover."""
        if self._tiers and self._tiers.standing is not Standing.IN_STEP and self._fresh is Fresh.REFUSED:
            raise StoreUnavailable(
                f"The local tier has nothing of {', '.join(self._keys)}, and the remote tier could not be asked.",
                remedy="See to the remote tier and start again, or allow a fresh start by name.",
                keys=tuple(self._keys),
            )
        return Recovered(RecoveryPath.FRESH)

    # The local tier is damaged

    def _damaged_local(self, local: LocalCut) -> Recovered:
        remote = self._newer_remote(local)
        if remote is not None and self._tiers is not None:
            return self._pulled(self._tiers, remote, local.damaged)
        if local.found:
            return self._fallen_back(local)
        return self._given_up(local.damaged)

    def _newer_remote(self, local: LocalCut) -> RemoteCut | None:
        """The remote copy, when it is newer than what the local tier can still offer."""
        if self._tiers is None or not _is_older(local, self._tiers, self._keys):
            return None
        try:
            cut = read_remote(self._tiers, self._keys)
        except CheckpointDamaged:
            return None
        except StoreUnavailable:
            if local.found or self._fresh is Fresh.REFUSED:
                raise
            return None
        if cut is None or not cut.payloads:
            return None
        if not local.found:
            return cut
        offered = {key: stored.version.number for key, stored in local.found.items()}
        return cut if any(cut.manifest.number(key) > offered.get(key, 0) for key in cut.payloads) else None

    def _fallen_back(self, local: LocalCut) -> Recovered:
        """Make the older versions the newest ones, in one commit that says so."""
        newest = {key: self._local.versions(key)[-1].number for key in local.found}
        going_back = [key for key, stored in local.found.items() if self._is_unusable(key, stored, newest[key])]
        updates: list[Update] = [RollBack(key, local.found[key].version.number, Origin.FALLBACK) for key in going_back]
        updates += [Delete(key) for key in local.doubtful]
        self._store.commit(Commit(self._epoch, updates))
        values = {key: self._local.get_version(key, self._local.versions(key)[-1].number) for key in local.found}
        return Recovered(RecoveryPath.LOCAL_FALLBACK, values, local.damaged)

    def _is_unusable(self, key: str, chosen: Stored, newest: int) -> bool:
        """Whether the newest version of a key is not the chosen one, or is in doubt."""
        if chosen.version.number != newest:
            return True
        try:
            self._local.get_raw(key)
        except CheckpointDamaged:
            return True
        return False

    def _given_up(self, damaged: Sequence[str]) -> Recovered:
        if self._fresh is Fresh.REFUSED:
            raise CheckpointDamaged(
                f"Nothing of {', '.join(self._keys)} can be read together; damaged: {', '.join(damaged)}.",
                remedy="Run `doctor` to see what is left, restore the store, or allow a fresh start by name.",
                keys=tuple(self._keys),
                damaged=tuple(damaged),
            )
        return Recovered(RecoveryPath.FRESH, damaged=tuple(damaged))

    # The remote tier is ahead

    def _remote_ahead(self, tiers: Tiers) -> Recovered:
        """All of the remote tier, for a mixture of two histories would be neither."""
        try:
            cut = read_remote(tiers, None)
        except CheckpointDamaged:
            if self._fresh is Fresh.REFUSED:
                raise
            cut = None
        if cut is None:
            return self._copies_given_up(tiers)
        if cut.damaged and not cut.payloads.keys() & set(self._keys) and self._fresh is Fresh.REFUSED:
            return self._given_up(cut.damaged)
        return self._pulled(tiers, cut, ())

    def _copies_given_up(self, tiers: Tiers) -> Recovered:
        """Nothing of either tier, for what the local one has is older than what cannot be read."""
        recovered = self._given_up(["every copy in the remote tier"])
        start_afresh(tiers, self._keys)
        return recovered

    def _pulled(self, tiers: Tiers, cut: RemoteCut, damaged: tuple[str, ...]) -> Recovered:
        pull(tiers, cut, gone=self._keys)
        found = {key: stored for key in self._keys if (stored := self._local.get_raw(key))}
        return Recovered(RecoveryPath.REMOTE if found else RecoveryPath.FRESH, found, damaged + cut.damaged)


def _is_older(local: LocalCut, tiers: Tiers, keys: Sequence[str]) -> bool:
    """Whether the remote tier is known to have something newer; when the local tier has nothing, it is worth a look."""
    offered = {key: stored.version.number for key, stored in local.found.items()}
    return not offered or any(tiers.record.number(key) > offered.get(key, 0) for key in keys)
