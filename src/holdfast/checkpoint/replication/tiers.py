"""Two checkpoint stores as one: what is known of both tiers, and the commit that goes to the local one.

Three modules act on this state: `takeover` fences both tiers and finds out which is ahead, `copying` brings the remote
tier up to the local one, `pulling` the local one up to the remote one. Each holds `remote_use` while it speaks to the
remote tier. `changed` guards the state; it is never held while the remote tier is spoken to, so commits never wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from threading import Condition, Lock

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put, Version
from holdfast.checkpoint.replication.remotetier import RemoteTier
from holdfast.checkpoint.replication.replica import NOTHING, RESERVED, Found, Manifest, encode
from holdfast.checkpoint.replication.status import Attempts, Pending, Replication, Standing, report
from holdfast.model.clock import Clock
from holdfast.model.errors import CheckpointDamaged, CommitStateUnknown, Fenced, UnknownEpoch

RECORDS_KEPT = 4
NEVER = -1


class Tiers:
    """The two tiers of a replicated store and what is known of them.

    :param reader: a handle on the local data for the copies.
    """

    def __init__(
        self, local: CheckpointStore, reader: CheckpointStore, remote: RemoteTier, *, every: timedelta, clock: Clock
    ) -> None:
        self.local = local
        self.reader = reader
        self.remote = remote
        self.every = every
        self.clock = clock
        self.remote_use = Lock()
        self.changed = Condition()
        """Guards what follows; notified after every attempt to copy."""
        self.epoch = 0
        self.newer_owner = 0
        self.standing = Standing.NOT_OWNER
        self.record = NOTHING
        """What is certainly remote, as the local tier durably remembers it."""
        self.base: Found | None = None
        """The newest manifest in the remote tier; None when it must be read again."""
        self.commits = 0
        """Made through this store."""
        self.copied = NEVER
        """How many of them are remote; `NEVER` until what was found at the takeover is."""
        self.pending = Pending()
        self.under_way = Pending()
        self.attempts = Attempts()
        self._records = 0

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

    def check_writable(self, epoch: int) -> None:
        """Raise when a write would be lost, or would be built on something old."""
        self.check_owner(epoch)
        self.check_readable()

    def check_owner(self, epoch: int) -> None:
        """Raise when the epoch does not own both tiers through this store."""
        if self.standing is Standing.FENCED:
            raise Fenced(
                f"Another host has taken over the remote tier under epoch {self.newer_owner}; this one had {epoch}.",
                remedy="Stop this instance.",
                carried=epoch,
                newest=self.newer_owner,
            )
        if self.standing is Standing.NOT_OWNER or epoch > self.epoch:
            raise UnknownEpoch(
                f"The write carries epoch {epoch}, which was not taken over through this replicated store.",
                remedy="Take over through this store, so that both tiers are fenced.",
                carried=epoch,
            )

    def check_readable(self) -> None:
        """Raise when the local tier is known to be older than the remote one."""
        if self.standing is Standing.BEHIND:
            raise CheckpointDamaged(
                "The local tier lacks checkpoints that the remote one has: its disk is an older copy, or another host "
                "wrote meanwhile.",
                remedy="Recover, which brings the local tier up to the remote one.",
            )

    def status(self) -> Replication:
        """How the copies stand."""
        with self.changed:
            behind = Pending()
            behind.put_back(self.pending)
            behind.put_back(self.under_way)
            return report(self.standing, behind, self.attempts, now=self.clock(), every=self.every)

    # For the modules that act on the tiers

    def local_versions(self) -> dict[str, list[Version]]:
        """The versions of each key of the local tier, oldest first."""
        keys = set(self.local.keys()) - {RESERVED}
        return {key: versions for key in keys if (versions := self.local.versions(key))}

    def newest_local(self) -> dict[str, int]:
        """The newest version of each key of the local tier."""
        return {key: versions[-1].number for key, versions in self.local_versions().items()}

    def note_differences(self, known: Manifest) -> None:
        """Note keys of which the remote tier has another version than the local one, or that it should not have."""
        local = self.newest_local()
        keys = local.keys() | known.entries.keys()
        self.pending.note([key for key in keys if local.get(key, 0) != known.number(key)], self.clock())

    def keep_record(self, epoch: int, manifest: Manifest) -> None:
        """Make durable what is known to be remote, before anybody is told."""
        self.local.commit(Commit(epoch, [Put(RESERVED, encode(manifest))]))
        self._records += 1
        if self._records % RECORDS_KEPT == 0:
            self.local.prune(RESERVED, keep=RECORDS_KEPT, epoch=epoch)
        with self.changed:
            self.record = manifest

    def _add(self, written: Mapping[str, int | None]) -> None:
        self.commits += 1
        self.pending.add(written, self.clock())
