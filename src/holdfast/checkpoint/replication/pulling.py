"""Brings the local tier up to the remote one: reads the newest copy and writes it as the newest local versions.

When no copy can be read and somebody asked for it by name, the two are brought together on nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from holdfast.checkpoint.contract import Commit, Delete, Put, Update
from holdfast.checkpoint.replication.remotetier import RemoteCut, newest_manifest
from holdfast.checkpoint.replication.replica import NOTHING, RESERVED, Entry, Found, Manifest
from holdfast.checkpoint.replication.status import Standing
from holdfast.checkpoint.replication.tiers import Tiers
from holdfast.model.errors import ForeignFile


def read_remote(tiers: Tiers, keys: Collection[str] | None) -> RemoteCut | None:
    """The newest copy in the remote tier, with version numbers of the local one (0 for a version it never had).

    `ForeignFile` when the local tier has a history that the remote one knows nothing of.
    """
    if tiers.standing is Standing.BEHIND:
        _refuse_two_histories(tiers)
    with tiers.remote_use:
        cut = tiers.remote.read(keys)
    if cut is None or tiers.standing is Standing.BEHIND:
        return cut
    return replace(cut, manifest=_in_local_numbers(cut.manifest, tiers.record))


def pull(tiers: Tiers, cut: RemoteCut, gone: Collection[str] = ()) -> None:
    """Write a copy into the local tier.

    When the local tier was behind, this replaces all of it, keys that the copy lacks are deleted, and afterwards the
    two are in step.

    :param gone: keys that must not stay in the local tier when the copy lacks them.
    """
    with tiers.remote_use, tiers.changed:
        was_behind = tiers.standing is Standing.BEHIND
        lost = {*gone, *(tiers.newest_local() if was_behind else ())} - cut.manifest.entries.keys()
        updates: list[Update] = [Put(key, payload) for key, payload in cut.payloads.items()]
        written = tiers.local.commit(Commit(tiers.epoch, [*updates, *map(Delete, sorted(lost))]))
        moved = {key: replace(cut.manifest.entries[key], number=written[key]) for key in cut.payloads}
        tiers.keep_record(tiers.epoch, (cut.manifest if was_behind else tiers.record).next(tiers.epoch, moved))
        brought = {*cut.payloads, *lost}
        tiers.pending.settle(brought)
        if cut.damaged:
            tiers.pending.note(brought, tiers.clock())
        tiers.base = None
        if was_behind:
            tiers.standing = Standing.IN_STEP


def start_afresh(tiers: Tiers, keys: Collection[str]) -> None:
    """Go on from nothing although the remote tier was ahead: no copy of it can be read.

    The local tier is emptied, for what it holds is older than what the sources were told. The next copy clears the
    remote tier.

    :param keys: keys that must not stay in doubt.
    """
    with tiers.remote_use:
        unreadable = tiers.remote.manifest()
        with tiers.changed:
            lost = {*keys, *tiers.local.keys()} - {RESERVED}
            tiers.local.commit(Commit(tiers.epoch, [Delete(key) for key in sorted(lost)]))
            tiers.keep_record(tiers.epoch, NOTHING.claimed(tiers.epoch))
            tiers.pending.settle(lost)
            tiers.pending.note(unreadable.manifest.entries, tiers.clock())
            tiers.base, tiers.standing = unreadable, Standing.IN_STEP


def _refuse_two_histories(tiers: Tiers) -> None:
    if newest_manifest(tiers.local) == Found() and tiers.newest_local():
        raise ForeignFile(
            "The local tier holds checkpoints that were never copied, and the remote tier holds another history.",
            remedy="Name the right remote tier, or move the checkpoints of one of the two away.",
        )


def _in_local_numbers(manifest: Manifest, record: Manifest) -> Manifest:
    """Until this owner has made a copy, the manifest has the numbers of the owner before, maybe of another host."""
    if manifest.epoch == record.epoch:
        return manifest
    entries = {key: _known(entry, record.entries.get(key)) for key, entry in manifest.entries.items()}
    return replace(manifest, entries=entries)


def _known(entry: Entry, recorded: Entry | None) -> Entry:
    same = recorded is not None and (recorded.size, recorded.checksum) == (entry.size, entry.checksum)
    return recorded if recorded and same else replace(entry, number=0)
