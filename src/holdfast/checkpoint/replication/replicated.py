"""A checkpoint store of two tiers: commits are local, and a thread of its own copies them to a remote tier.

* A commit touches the local tier only. A remote tier that is slow, gone or full never delays or fails one.
* A copy is one remote commit that holds every key changed since the one before, as they stood together; what is pending
  is the newest version of each changed key, so it is bounded by the number of keys.
* Both tiers are fenced under one epoch. When the remote tier answers that another host has taken over, local writes
  raise `Fenced` from then on, also when there was nothing to copy: every cadence asks.
* `take_over` needs the remote tier, because without it another host cannot be fenced. `WithoutRemote.DETACH` does it
  nevertheless, shows it in the status, and fences the remote tier when it is back; if another host was there first,
  this one is fenced.
* When the remote tier holds something newer than the local one (a lost or restored disk, another host), reading and
  writing raise `CheckpointDamaged` until `recovery.recover` has brought it here.

All writes of the local tier must go through this store. What is written past it is copied after the next takeover.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from datetime import timedelta

from holdfast.checkpoint.contract import CheckpointStore, Commit, Stored, Version
from holdfast.checkpoint.replication.copying import Copier
from holdfast.checkpoint.replication.remotetier import RemoteTier
from holdfast.checkpoint.replication.replica import RESERVED
from holdfast.checkpoint.replication.status import Replication, Standing, back_off
from holdfast.checkpoint.replication.takeover import WithoutRemote, take_over
from holdfast.checkpoint.replication.tiers import Tiers
from holdfast.checkpoint.rules import closed
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CheckpointError, InvalidKey

KEPT_REMOTE = 10
PATIENCE = 0.5
"""Seconds between two attempts while somebody waits in `flush`."""
FAREWELL = 5.0
"""Seconds for which `close` waits for a copy under way; the thread then ends by itself, later."""


class ReplicatedStore(CheckpointStore):
    """A local store with a remote copy. Closing it closes both.

    :param every: the cadence of the copies.
    :param without_remote: what a takeover does when the remote tier cannot be reached.
    :param keep_remote: how many copies of each key stay in the remote tier at least.
    :param reader: a second handle on the local data for the copying thread, so that a commit never waits while a large
        version is read; without it they share `local`.
    """

    def __init__(
        self,
        local: CheckpointStore,
        remote: CheckpointStore,
        *,
        every: timedelta,
        without_remote: WithoutRemote = WithoutRemote.REFUSE,
        keep_remote: int = KEPT_REMOTE,
        reader: CheckpointStore | None = None,
        clock: Clock = utc_now,
        log: logging.Logger | None = None,
    ) -> None:
        self.durability = local.durability
        self.tiers = Tiers(local, reader or local, RemoteTier(remote, keep_remote), every=every, clock=clock)
        self._copier = Copier(self.tiers)
        self._without_remote = without_remote
        self._log = log or logging.getLogger(__name__)
        self._locals = [local] if reader is None else [local, reader]
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    # Ownership

    def epoch(self) -> int:
        """The newest epoch that either tier is known to have seen."""
        return max(self._open().local.epoch(), self.tiers.newer_owner)

    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner of both tiers under one epoch, and begin to copy."""
        tiers = self._open()
        epoch = take_over(tiers, at_least, self._without_remote)
        self._log.info("checkpoints.take_over epoch=%d standing=%s", epoch, tiers.standing.name)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="holdfast replication", daemon=True)
            self._thread.start()
        return epoch

    # Reading: the local tier

    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""
        return [key for key in self._readable().local.keys(prefix) if key != RESERVED]

    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent; once taken over, never one the remote overtook."""
        return self._readable().local.get_raw(key)

    def versions(self, key: str) -> list[Version]:
        """The versions the local tier keeps of `key`, oldest first."""
        return self._readable().local.versions(key)

    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key` from the local tier."""
        return self._readable().local.get_version(key, version)

    # Writing: the local tier at once, the remote one in the background

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit to the local tier; it is copied on the cadence."""
        for item in (*commit.updates, *commit.requirements):
            _refuse_reserved(item.key)
        return self._open().commit(commit)

    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget old versions in the local tier; the remote one keeps its own number of copies."""
        _refuse_reserved(key)
        with self._open().changed:
            self.tiers.check_writable(epoch)
            return self.tiers.local.prune(key, keep=keep, epoch=epoch)

    # The remote tier

    def replication(self) -> Replication:
        """How the copies stand."""
        return self._open().status()

    def newest_remote(self, key: str) -> int:
        """The newest local version of `key` that is certainly in the remote tier; 0 when none is.

        The local tier remembers it durably before it is told here, so it never falls by a crash.
        """
        with self._open().changed:
            return self.tiers.record.number(key)

    def replicate_once(self) -> Replication:
        """One step of the copying thread: copy what is pending, or look whether this owner is still the owner."""
        tiers = self._open()
        before = tiers.status()
        self._copier.copy()
        now = tiers.status()
        if (before.standing, bool(before.failures)) != (now.standing, bool(now.failures)):
            level = logging.WARNING if now.failures else logging.INFO
            self._log.log(level, "checkpoints.replication standing=%s error=%s", now.standing.name, now.last_error)
        self._forget_old_copies()
        return now

    def flush(self, timeout: timedelta) -> Replication:
        """Wait until the remote tier has every commit made so far, or the time is up; the status tells which."""
        tiers, deadline = self._open(), time.monotonic() + timeout.total_seconds()
        with tiers.changed:
            wanted = tiers.commits
            while tiers.copied < wanted and self._is_copying() and (left := deadline - time.monotonic()) > 0:
                self._wake.set()
                tiers.changed.wait(min(left, PATIENCE))
        return tiers.status()

    def close(self) -> None:
        """Stop copying and close both tiers. What is pending stays pending: `flush` first for an orderly stop."""
        if self._closed:
            return
        self._closed = True
        self._wake.set()
        if self._thread is None:
            self.tiers.remote.store.close()
        else:
            self._thread.join(FAREWELL)
        for store in self._locals:
            store.close()

    def _open(self) -> Tiers:
        if self._closed:
            raise closed("The replicated store")
        return self.tiers

    def _readable(self) -> Tiers:
        tiers = self._open()
        tiers.check_readable()
        return tiers

    def _is_copying(self) -> bool:
        return self._thread is not None and self.tiers.standing in (Standing.IN_STEP, Standing.DETACHED)

    def _run(self) -> None:
        """The copying thread. It alone closes the remote tier, which may take as long as the remote tier likes."""
        try:
            while not self._closed:
                self._wake.wait(back_off(self.tiers.every, self.tiers.attempts.failures).total_seconds())
                self._wake.clear()
                if not self._closed:
                    self._copy_or_remember_why_not()
        finally:
            self.tiers.remote.store.close()

    def _copy_or_remember_why_not(self) -> None:
        """One step, whatever it raises: a panic of a client library is not even an `Exception`."""
        try:
            self.replicate_once()
        except CheckpointError:
            pass  # it stands in the status already
        except BaseException as error:
            with self.tiers.changed:
                self.tiers.attempts = self.tiers.attempts.failed(error)
                self.tiers.changed.notify_all()
            self._log.exception("checkpoints.replication failed in a way nobody foresaw")

    def _forget_old_copies(self) -> None:
        """Old copies that cannot be removed cost room, not safety: that is logged and tried again later."""
        try:
            self._copier.forget_old_copies()
        except CheckpointError as error:
            self._log.warning("checkpoints.replication cannot forget old copies: %s", error)


def _refuse_reserved(key: str) -> None:
    if key == RESERVED:
        raise InvalidKey(f"The key {key!r} belongs to replication.", remedy="Use another key.", key=key)
