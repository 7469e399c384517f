"""The checkpoint store over any medium that can publish a name once: reads the head, decides, publishes.

What is decided is in `planning`, including what happens after damage; how bytes are kept is the medium's business.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from threading import RLock
from typing import TypeVar

from holdfast.checkpoint.commitlog import planning
from holdfast.checkpoint.commitlog.document import MARKER, check_marker, encode_marker
from holdfast.checkpoint.commitlog.medium import Medium
from holdfast.checkpoint.commitlog.model import Document, Draft, Record, Stamp, View
from holdfast.checkpoint.commitlog.publish import Publisher
from holdfast.checkpoint.commitlog.reader import ATTEMPTS, LogReader, contended
from holdfast.checkpoint.commitlog.sweep import Sweeper
from holdfast.checkpoint.contract import CheckpointStore, Commit, Delete, Put, RollBack, Stored, Version
from holdfast.checkpoint.envelope import Sealed, seal
from holdfast.checkpoint.keys import check_commit, check_key, check_prune
from holdfast.checkpoint.rules import carried_over_fork, closed, prunable
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CheckpointDamaged, ForeignFile

T = TypeVar("T")


def random_nonce() -> str:
    """A name for one attempt to publish that nobody else will give."""
    return secrets.token_hex(8)


class LogStore(CheckpointStore):
    """A store kept as a log of commit documents."""

    def __init__(self, medium: Medium, *, clock: Clock = utc_now, nonces: Callable[[], str] = random_nonce) -> None:
        self.durability = medium.durability
        self._medium = medium
        self._clock = clock
        self._nonces = nonces
        self._reader = LogReader(medium)
        self._publisher = Publisher(medium, self._reader)
        self._sweeper = Sweeper(medium, self._reader)
        self._lock = RLock()
        self._process = os.getpid()
        self._closed = False
        self._identify()
        self._reader.look()

    @property
    def medium(self) -> Medium:
        """Where the store lies, for the doctor, who looks below it."""
        return self._medium

    def epoch(self) -> int:
        """The newest epoch the store has seen; 0 for a new store."""
        with self._in_use():
            return self._reader.look().document.epoch

    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner under a new epoch."""
        with self._in_use():
            return self._publish(lambda view, stamp: planning.plan_take_over(view, at_least, stamp)).epoch

    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""
        with self._in_use():
            return sorted(key for key in self._reader.look().present() if key.startswith(prefix))

    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent."""
        check_key(key)
        with self._in_use():
            return self._undisturbed(lambda view: self._reader.newest(view, key))

    def versions(self, key: str) -> list[Version]:
        """The versions kept of `key`, oldest first."""
        check_key(key)
        with self._in_use():
            return [record.version for record in self._records(self._reader.look(), key)]

    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key`."""
        check_key(key)
        with self._in_use():
            return self._undisturbed(lambda view: self._load(view, key, version))

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit, all or none."""
        check_commit(commit)
        sealed = {update.key: seal(update.payload) for update in commit.updates if isinstance(update, Put)}
        with self._in_use():
            document = self._publish(lambda view, stamp: self._plan(view, commit, sealed, stamp))
        return {u.key: 0 if isinstance(u, Delete) else document.chains[u.key].last for u in commit.updates}

    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget all but the newest `keep` versions of `key`, and remove what nothing refers to any more."""
        check_prune(key, keep)
        with self._in_use():
            gone = self._forget(key, keep, epoch)
            self._sweeper.sweep(self._reader.look())
            return gone

    def accept_loss(self, *, epoch: int) -> None:
        """End the doubt about keys that stood in nothing but damaged documents: from now on they are absent.

        The known keys must have been written since the damage; `CheckpointDamaged` names one that was not.
        """
        with self._in_use():
            if self._reader.look().doubt:
                self._publish(lambda view, stamp: planning.plan_acceptance(view, epoch, stamp))

    def close(self) -> None:
        """Refuse further use."""
        self._closed = True

    def _in_use(self) -> RLock:
        if self._closed:
            raise closed(self._medium.where())
        if self._process != os.getpid():
            raise carried_over_fork(self._medium.where())
        return self._lock

    def _identify(self) -> None:
        marker = self._medium.read(MARKER)
        if marker is not None:
            check_marker(marker, where=self._medium.where(MARKER))
        elif strangers := self._medium.strangers():
            raise ForeignFile(
                f"{self._medium.where()} holds {strangers[0]!r}, which is not part of a checkpoint store.",
                remedy="Give the store a place of its own.",
                where=self._medium.where(),
                found=strangers,
            )
        self._medium.found()
        if marker is None:
            self._medium.create(MARKER, encode_marker())

    def _undisturbed(self, read: Callable[[View], T]) -> T:
        """What is read, or read again when others swept away what it was reading."""
        for _ in range(ATTEMPTS):
            view = self._reader.look()
            try:
                return read(view)
            except CheckpointDamaged:
                if self._reader.look().newest == view.newest:
                    raise
        raise contended(self._medium)

    def _records(self, view: View, key: str) -> list[Record]:
        return list(self._reader.walk(view, key))[::-1]

    def _load(self, view: View, key: str, version: int) -> Stored:
        return self._reader.load(self._reader.find(view, key, version))

    def _plan(self, view: View, commit: Commit, sealed: Mapping[str, Sealed], stamp: Stamp) -> Draft:
        planning.admit(view, commit)
        returning = [update for update in commit.updates if isinstance(update, RollBack)]
        restored = {update.key: seal(self._load(view, update.key, update.version).payload) for update in returning}
        return planning.plan(view, commit, {**sealed, **restored}, stamp)

    def _forget(self, key: str, keep: int, epoch: int) -> int:
        """Publish that old versions are forgotten, unless there are none."""
        gone: list[int] = []

        def decide(view: View, stamp: Stamp) -> Draft | None:
            planning.check_owner(view, epoch)
            records = {record.number: record for record in self._records(view, key)}
            gone[:] = prunable(list(records), keep, lambda number: self._reader.readable(records[number]))
            kept = [record for number, record in records.items() if number not in gone]
            return planning.plan_prune(view, key, kept, keep, stamp) if gone else None

        self._publish_if(decide)
        return len(gone)

    def _publish(self, decide: Callable[[View, Stamp], Draft]) -> Document:
        document = self._publish_if(decide)
        assert document is not None
        return document

    def _publish_if(self, decide: Callable[[View, Stamp], Draft | None]) -> Document | None:
        """Decide and publish; decide again whenever somebody else was first."""
        for _ in range(ATTEMPTS):
            draft = decide(self._reader.look(), Stamp(self._clock(), self._nonces()))
            if draft is None:
                return None
            if self._publisher.publish(draft):
                self._reader.remember(draft.document)
                self._sweeper.note(draft.document)
                return draft.document
        raise contended(self._medium)
