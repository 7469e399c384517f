"""Brings the remote tier up to one cut of the local one.

A cut is read without stopping the writer: which versions belong to it is noted in one moment, and versions never
change. It is written in one remote commit, so a reader there sees all of it or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.checkpoint.contract import Delete, Put, Update
from holdfast.checkpoint.replication.replica import NOTHING, Entry, Found
from holdfast.checkpoint.replication.status import Attempts, Pending, Standing
from holdfast.checkpoint.replication.takeover import attach
from holdfast.checkpoint.replication.tiers import Tiers
from holdfast.checkpoint.rules import check_epoch
from holdfast.model.errors import Fenced, StoreUnavailable, UnknownKey, UnknownVersion

ATTEMPTS = 100
"""How often a version may be pruned away before it is read; each time a newer one takes its place."""

Copy = tuple[Sequence[Update], Mapping[str, Entry | None]]
"""What is written to the remote tier, and what its manifest says of it."""


class Copier:
    """The one who copies. What goes wrong is told by the status, not raised."""

    def __init__(self, tiers: Tiers) -> None:
        self._tiers = tiers
        self._cut_at = 0

    def copy(self) -> None:
        """Copy what is pending; when nothing is, see whether this owner is still the owner."""
        tiers = self._tiers
        with tiers.remote_use:
            if tiers.standing not in (Standing.IN_STEP, Standing.DETACHED):
                return
            try:
                self._copy()
            except Fenced as error:
                self._end(tiers.attempts.failed(error), fenced_by=error.context.get("newest"))
            except Exception as error:
                self._end(tiers.attempts.failed(error))
            else:
                self._end(tiers.attempts.succeeded(tiers.clock()))

    def forget_old_copies(self) -> None:
        """Prune the remote tier, when it is time."""
        tiers = self._tiers
        with tiers.remote_use:
            if tiers.standing is Standing.IN_STEP and not tiers.attempts.last_error:
                tiers.remote.forget_old(tiers.epoch)

    def _copy(self) -> None:
        tiers = self._tiers
        if tiers.standing is Standing.DETACHED:
            attach(tiers)
        if tiers.standing is not Standing.IN_STEP:
            return
        base = self._known_base()
        self._fix_cut()
        if tiers.under_way.versions or base.manifest.epoch != tiers.epoch:
            self._write(base)
        else:
            check_epoch(tiers.epoch, tiers.remote.store.epoch())

    def _end(self, attempts: Attempts, fenced_by: object = None) -> None:
        """Note how an attempt went, and put back what it did not bring over."""
        tiers = self._tiers
        with tiers.changed:
            tiers.attempts = attempts
            if attempts.last_error:
                tiers.pending.put_back(tiers.under_way)
                tiers.base = None
            elif tiers.standing is Standing.IN_STEP:
                tiers.copied = self._cut_at
            tiers.under_way = Pending()
            if isinstance(fenced_by, int):
                tiers.standing, tiers.newer_owner = Standing.FENCED, fenced_by
            tiers.changed.notify_all()

    def _known_base(self) -> Found:
        """The newest manifest; a remote tier whose newest one is damaged gets everything anew."""
        tiers = self._tiers
        base = tiers.base = tiers.base or tiers.remote.manifest()
        if base.is_damaged:
            with tiers.changed:
                tiers.note_differences(NOTHING)
        return base

    def _fix_cut(self) -> None:
        """The newest version of every key that is behind, at this moment."""
        tiers = self._tiers
        with tiers.changed:
            for key, version in tiers.pending.versions.items():
                if version is None:
                    versions = tiers.local.versions(key)
                    tiers.pending.versions[key] = versions[-1].number if versions else 0
            tiers.pending.put_back(tiers.under_way)
            tiers.under_way, tiers.pending, self._cut_at = tiers.pending, Pending(), tiers.commits

    def _write(self, base: Found) -> None:
        tiers = self._tiers
        updates, changed = self._read_cut()
        manifest = (NOTHING if base.is_damaged else tiers.record).next(tiers.epoch, changed)
        manifest = replace(manifest, cut=max(manifest.cut, base.manifest.cut + 1))
        version = tiers.remote.write(tiers.epoch, manifest, updates, None if base.is_damaged else base.version)
        tiers.keep_record(tiers.epoch, manifest)
        tiers.base = Found(manifest, version)

    def _read_cut(self) -> Copy:
        """The payloads of the cut; when one was pruned or deleted meanwhile, those of a newer cut."""
        for _ in range(ATTEMPTS):
            try:
                return self._read_versions(self._tiers.under_way.versions)
            except (UnknownVersion, UnknownKey):
                self._fix_cut()
        raise StoreUnavailable("The local tier changed faster than it could be read.", remedy="Keep more versions.")

    def _read_versions(self, versions: Mapping[str, int | None]) -> Copy:
        updates: list[Update] = []
        changed: dict[str, Entry | None] = {}
        for key, number in versions.items():
            stored = self._tiers.reader.get_version(key, number) if number else None
            updates.append(Put(key, stored.payload) if stored else Delete(key))
            changed[key] = Entry.of(stored.version) if stored else None
        return updates, changed
