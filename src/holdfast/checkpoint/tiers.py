"""Two checkpoint stores as one: the local tier takes every commit, and the remote one gets copies of consistent cuts.

A cut is read without stopping the writer: which versions belong to it is noted in one moment, and versions never change.
The lock that local commits need is never held while the remote tier is being spoken to.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from enum import Enum
from threading import Condition, Lock

from holdfast.checkpoint.contract import CheckpointStore, Clock, Commit, Delete, Put, Update
from holdfast.checkpoint.remotetier import RemoteCut, RemoteTier, newest_manifest
from holdfast.checkpoint.replica import NOTHING, RESERVED, Entry, Found, Manifest, encode, is_behind
from holdfast.checkpoint.replication import Attempts, Pending, Replication, Standing, report
from holdfast.checkpoint.rules import check_epoch
from holdfast.model.errors import (
    CheckpointDamaged,
    CommitStateUnknown,
    Fenced,
    ForeignFile,
    StoreUnavailable,
    UnknownEpoch,
    UnknownKey,
    UnknownVersion,
)

RECORDS_KEPT = 4
ATTEMPTS = 100
"""How often a version may be pruned away before it is read; each time a newer one takes its place."""


class WithoutRemote(Enum):
    """What a takeover does when the remote tier cannot be reached, so that another host cannot be fenced there."""

    REFUSE = "refuse"
    """Raise `StoreUnavailable` and change nothing."""
    DETACH = "detach"
    """Take over the local tier alone, say so in the status, and fence the remote tier as soon as it is back."""


class Tiers:
    """The two tiers of a replicated store and what is known of them."""

    def __init__(
        self, local: CheckpointStore, reader: CheckpointStore, remote: RemoteTier, *, every: timedelta, clock: Clock
    ) -> None:
        self.local = local
        self.remote = remote
        self._reader = reader
        self._every = every
        self._clock = clock
        self.changed = Condition()
        """Guards everything below; notified after every attempt to copy."""
        self._copying = Lock()
        """Held by whoever speaks to the remote tier."""
        self.epoch = 0
        self.standing = Standing.NOT_OWNER
        self.record = NOTHING
        self.commits = 0
        """Made through this store."""
        self._pending = Pending()
        self._attempts = Attempts()
        self._remote_epoch = 0
        self._base: Found | None = None
        self._records = 0

    # Ownership

    def take_over(self, at_least: int, without: WithoutRemote) -> int:
        """Raise the epoch in both tiers, the remote one first; see how they stand to each other."""
        with self._copying:
            try:
                self.remote.manifest()
                former = self.remote.store.epoch()
            except StoreUnavailable as error:
                if without is WithoutRemote.REFUSE:
                    raise _unreachable(error) from error
                return self._detached(at_least, error)
            epoch = self._raise_both(max(at_least, former + 1, self.local.epoch() + 1))
            self._reconcile(epoch, former)
            return epoch

    def _raise_both(self, at_least: int) -> int:
        """The same epoch in both tiers; again when somebody raised the local one meanwhile."""
        while True:
            remote = self.remote.store.take_over(at_least=at_least)
            local = self.local.take_over(at_least=remote)
            if local == remote:
                return local
            at_least = local + 1

    def _detached(self, at_least: int, error: StoreUnavailable) -> int:
        epoch = self.local.take_over(at_least=at_least)
        with self.changed:
            self.epoch, self.standing = epoch, Standing.DETACHED
            self.record = newest_manifest(self.local).manifest
            self._attempts = self._attempts.failed(error)
            self._note_differences(self.record)
        return epoch

    def _attach(self) -> None:
        """The remote tier is back after a takeover without it: fence it, unless another host was there first."""
        former = self.remote.store.epoch()
        if former >= self.epoch:
            raise _taken(self.epoch, former)
        if (reached := self.remote.store.take_over(at_least=self.epoch)) != self.epoch:
            raise _taken(self.epoch, reached)
        self._reconcile(self.epoch, former)

    def _reconcile(self, epoch: int, former: int) -> None:
        """Find out which tier is ahead, and note what is to be copied."""
        found, record = self.remote.manifest(), newest_manifest(self.local)
        behind = is_behind(self._newest_local(), record.manifest, found, former)
        known = found.manifest if not found.is_damaged else NOTHING
        if not behind:
            known = max(known, record.manifest, key=lambda manifest: manifest.mark)
            self._keep_record(epoch, known.claimed(epoch))
        with self.changed:
            self.epoch, self._base = epoch, found
            self.standing = Standing.BEHIND if behind else Standing.IN_STEP
            if not behind:
                self._note_differences(NOTHING if found.is_damaged else known)

    def _note_differences(self, known: Manifest) -> None:
        """Keys of which the remote tier has another version, or that it should not have."""
        local = self._newest_local()
        keys = local.keys() | known.entries.keys()
        self._pending.note([key for key in keys if local.get(key, 0) != known.number(key)], self._clock())

    def _newest_local(self) -> dict[str, int]:
        keys = [key for key in self.local.keys() if key != RESERVED]
        return {key: versions[-1].number for key in keys if (versions := self.local.versions(key))}

    # Writing

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Commit to the local tier and note what is to be copied, in one step."""
        with self.changed:
            self.check_writable(commit.epoch)
            try:
                written = self.local.commit(commit)
            except CommitStateUnknown:
                self._add(dict.fromkeys(update.key for update in commit.updates))
                raise
            self._add(written)
            return written

    def _add(self, written: Mapping[str, int | None]) -> None:
        self.commits += 1
        self._pending.add(written, self._clock())

    def check_writable(self, epoch: int) -> None:
        """Raise when a write would be lost, or would be built on something old."""
        if self.standing is Standing.FENCED:
            check_epoch(self.epoch, self._remote_epoch)
        if self.standing is Standing.NOT_OWNER or epoch > self.epoch:
            raise UnknownEpoch(
                f"The write carries epoch {epoch}, which was not taken over through this replicated store.",
                remedy="Take over through this store, so that both tiers are fenced.",
                carried=epoch,
            )
        self.check_readable()

    def check_readable(self) -> None:
        """Raise when the local tier is known to be older than the remote one."""
        if self.standing is Standing.BEHIND:
            raise CheckpointDamaged(
                "The local tier lacks checkpoints that the remote one has: its disk is an older copy, or another host "
                "wrote meanwhile.",
                remedy="Recover, which brings the local tier up to the remote one.",
            )

    # Copying

    def copy(self) -> None:
        """Bring the remote tier up to one cut of the local one; never raises what the status can tell."""
        with self._copying:
            try:
                self._copy_once()
            except Fenced as error:
                self._fence(error)
            except Exception as error:
                with self.changed:
                    self._base = None
                    self._attempts = self._attempts.failed(error)
            else:
                with self.changed:
                    self._attempts = self._attempts.succeeded(self._clock())
            finally:
                with self.changed:
                    self.changed.notify_all()

    def _copy_once(self) -> None:
        if self.standing is Standing.DETACHED:
            self._attach()
        if self.standing is not Standing.IN_STEP:
            return
        base = self._known_base()
        cut = self._take_pending()
        try:
            if cut.versions or base.manifest.epoch != self.epoch:
                self._write(base, cut)
            else:
                check_epoch(self.epoch, self.remote.store.epoch())
        except BaseException:
            with self.changed:
                self._pending.put_back(cut)
            raise

    def _known_base(self) -> Found:
        """The newest manifest; a remote tier whose newest one is damaged gets everything anew."""
        if self._base is None:
            self._base = self.remote.manifest()
        if self._base.is_damaged:
            with self.changed:
                self._note_differences(NOTHING)
        return self._base

    def _take_pending(self) -> Pending:
        with self.changed:
            for key, version in self._pending.versions.items():
                if version is None:
                    versions = self.local.versions(key)
                    self._pending.versions[key] = versions[-1].number if versions else 0
            taken, self._pending = self._pending, Pending()
            return taken

    def _write(self, base: Found, cut: Pending) -> None:
        updates, changed = self._read_cut(cut)
        manifest = (NOTHING if base.is_damaged else self.record).next(self.epoch, changed)
        manifest = replace(manifest, cut=max(manifest.cut, base.manifest.cut + 1))
        version = self.remote.write(self.epoch, manifest, updates, None if base.is_damaged else base.version)
        self._keep_record(self.epoch, manifest)
        self._base = Found(manifest, version)

    def _read_cut(self, cut: Pending) -> tuple[Sequence[Update], Mapping[str, Entry | None]]:
        """The payloads of a cut; when one was pruned or deleted meanwhile, those of a newer cut."""
        for _ in range(ATTEMPTS):
            try:
                return self._read_versions(cut.versions)
            except (UnknownVersion, UnknownKey):
                newer = self._take_pending()
                newer.put_back(cut)
                cut.versions, cut.commits, cut.since = newer.versions, newer.commits, newer.since
        raise StoreUnavailable("The local tier changed faster than it could be read.", remedy="Keep more versions.")

    def _read_versions(
        self, versions: Mapping[str, int | None]
    ) -> tuple[Sequence[Update], Mapping[str, Entry | None]]:
        updates: list[Update] = []
        changed: dict[str, Entry | None] = {}
        for key, number in versions.items():
            stored = self._reader.get_version(key, number) if number else None
            updates.append(Put(key, stored.payload) if stored else Delete(key))
            changed[key] = Entry.of(stored.version) if stored else None
        return updates, changed

    def _keep_record(self, epoch: int, manifest: Manifest) -> None:
        """Make durable what is known to be remote, before anybody is told."""
        self.local.commit(Commit(epoch, [Put(RESERVED, encode(manifest))]))
        self._records += 1
        if self._records % RECORDS_KEPT == 0:
            self.local.prune(RESERVED, keep=RECORDS_KEPT, epoch=epoch)
        with self.changed:
            self.record = manifest

    def _fence(self, error: Fenced) -> None:
        newest = error.context.get("newest")
        with self.changed:
            self.standing = Standing.FENCED
            self._remote_epoch = max(self.epoch + 1, newest if isinstance(newest, int) else 0)
            self._attempts = self._attempts.failed(error)

    # Recovering

    def read_remote(self, keys: Collection[str] | None) -> RemoteCut | None:
        """The newest copy in the remote tier; `ForeignFile` when it cannot be told whose is the newer history."""
        with self._copying:
            cut = self.remote.read(keys)
        if cut and self.standing is Standing.BEHIND and self._has_history_of_its_own():
            raise ForeignFile(
                "The local tier holds checkpoints that were never copied, and the remote tier holds another history.",
                remedy="Name the right remote tier, or move the checkpoints of one of the two away.",
            )
        return cut

    def _has_history_of_its_own(self) -> bool:
        return newest_manifest(self.local) == Found() and bool(self._newest_local())

    def pull(self, cut: RemoteCut) -> None:
        """Write a copy into the local tier, as its newest versions; afterwards the tiers are in step.

        When the local tier was behind, this is all of it: keys that the copy lacks are gone.
        """
        with self._copying, self.changed:
            lost = self._newest_local().keys() - cut.manifest.entries.keys() if self.standing is Standing.BEHIND else ()
            updates = [Put(key, payload) for key, payload in cut.payloads.items()] + [Delete(key) for key in lost]
            written = self.local.commit(Commit(self.epoch, updates))
            base = cut.manifest if self.standing is Standing.BEHIND else self.record
            moved = {key: replace(cut.manifest.entries[key], number=written[key]) for key in cut.payloads}
            self._keep_record(self.epoch, base.next(self.epoch, moved))
            self._pending.settle([*cut.payloads, *lost])
            self.standing, self._base = Standing.IN_STEP, None

    # Reporting

    def status(self) -> Replication:
        """How the copies stand."""
        with self.changed:
            return report(self.standing, self._pending, self._attempts, now=self._clock(), every=self._every)

    @property
    def failures(self) -> int:
        """Attempts that failed in a row."""
        return self._attempts.failures

    def is_settled(self) -> bool:
        """Whether nothing is pending or on its way."""
        with self.changed:
            return not self._pending.versions and self._base is not None
