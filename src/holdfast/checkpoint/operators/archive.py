"""Keeps complete snapshots in a store: their parts in slots, and the history that names them. Blocks.

    write_part  ->  a free slot            nothing names it yet: after a crash it is garbage
    complete    ->  the history            one small commit; from here on a recovery finds the snapshot
    (sweeping)  ->  slots nobody names     emptied, and the payloads they held are forgotten

At every moment the newest versions of all keys hold the parts of every snapshot that the history names; so does every
copy of such a moment, which is what a remote tier has. A slot is emptied and not deleted, because deleting a key in a
remote tier takes it away from the older copies there too. What a crash leaves behind is swept after the next snapshot.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Commit, Put, TypedKey, VersionIs
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.history import History, Part
from holdfast.checkpoint.operators.snapshot import SnapshotMode
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.model.errors import CheckpointError, CommitStateUnknown, Fenced
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.checkpoint.operators.history import Completion, FlowKeys
    from holdfast.checkpoint.operators.snapshot import OperatorSnapshot

logger = logging.getLogger(__name__)

IDS_PER_EPOCH = 1_000_000_000
"""The ids of an owner start at its epoch times this. So no id is given twice, also not after a disk was lost with
snapshots that were told outside and never copied."""

HISTORIES_KEPT = 2
EMPTY = b""


class Archive:
    """The snapshots under one history. One call at a time, but for parts of different operators."""

    def __init__(
        self, store: CheckpointStore, keys: FlowKeys, operators: Sequence[str], *, epoch: int, hook: StepHook = no_hook
    ) -> None:
        self._store = store
        self._keys = keys
        self._key = keys.history(operators[0])
        self._epoch = epoch
        self._hook = hook
        self._history = store.get(self._key) or History()
        self._attempted = self._history
        """What may be in the store; another one than the history while nobody knows how the last commit ended."""
        self._version = self._newest_version()
        self._filled = {name: set(_filled_slots(store, keys, name)) for name in operators}
        self._last_id = max(self._history.newest_id, epoch * IDS_PER_EPOCH)

    @property
    def version(self) -> int:
        """The version of the history that was written last; 0 when there is none."""
        return self._version

    def outlives_the_disk(self, version: int) -> bool:
        """Whether a version of the history is where the loss of this disk cannot reach it, if there is such a place."""
        if not isinstance(self._store, ReplicatedStore):
            return True
        return self._store.newest_remote(self._key.name) >= version

    def next_id(self) -> int:
        """An id for a snapshot, above every one that was given before."""
        self._last_id += 1
        return self._last_id

    def write_part(self, snapshot: OperatorSnapshot) -> Part:
        """Write a part into a slot that no complete snapshot needs."""
        operator = snapshot.cut.operator
        slot = self._free_slot(operator)
        key = TypedKey(self._keys.slot(operator, slot), SnapshotCodec())
        self._filled[operator].add(slot)
        self._hook("snapshot.write")
        number = self._store.put(key, snapshot, epoch=self._epoch)
        self._hook("snapshot.durable")
        newest = self._store.versions(key.name)[-1]
        assert newest.number == number, "somebody else has written into the slot"
        return Part.stored_as(newest, slot)

    def complete(self, completion: Completion, *, oldest_needed: int) -> None:
        """Make a snapshot complete, whose parts are written, and forget those older than `oldest_needed`."""
        self._hook("cut.write")
        self._record(self._history.followed_by(completion, oldest_needed=oldest_needed))
        self._hook("cut.durable")
        self._sweep()

    # The record

    def _record(self, history: History) -> None:
        if self._attempted is not self._history:
            self._version = self._newest_version()
        self._attempted = history
        self._version = self._committed(history)
        self._history = history

    def _committed(self, history: History) -> int:
        """The version that the history has become; an unknown outcome is read back."""
        key = self._key
        needs = [VersionIs(key.name, self._version)]
        try:
            return self._store.commit(Commit(self._epoch, [Put(key.name, key.codec.encode(history))], needs))[key.name]
        except CommitStateUnknown:
            if self._store.get(key) != history:
                raise
            return self._newest_version()

    def _newest_version(self) -> int:
        versions = self._store.versions(self._key.name)
        return versions[-1].number if versions else 0

    # The slots

    def _named(self, operator: str) -> set[int]:
        return self._history.slots(operator) | self._attempted.slots(operator)

    def _free_slot(self, operator: str) -> int:
        named = self._named(operator)
        return next(slot for slot in range(len(named) + 1) if slot not in named)

    def _sweep(self) -> None:
        """What cannot be swept costs room, not safety: that is logged, and tried again after the next snapshot."""
        try:
            self._empty_slots()
            self._store.prune(self._key.name, keep=HISTORIES_KEPT, epoch=self._epoch)
        except Fenced:
            raise
        except CheckpointError as error:
            logger.warning("old snapshots below %s are kept: %s", self._keys.prefix, error)

    def _empty_slots(self) -> None:
        unneeded = [(name, slot) for name, slots in self._filled.items() for slot in slots - self._named(name)]
        if not unneeded:
            return
        names = [self._keys.slot(operator, slot) for operator, slot in unneeded]
        self._hook("sweep.write")
        self._store.commit(Commit(self._epoch, [Put(name, EMPTY) for name in names]))
        self._hook("sweep.prune")
        for name, (operator, slot) in zip(names, unneeded, strict=True):
            self._store.prune(name, keep=1, epoch=self._epoch)
            self._filled[operator].remove(slot)


def open_archives(
    store: CheckpointStore, keys: FlowKeys, operators: Sequence[str], *, epoch: int, hook: StepHook = no_hook
) -> dict[str, Archive]:
    """The archive of each operator: one for all when they are aligned, one of its own otherwise."""
    if keys.mode is SnapshotMode.ALIGNED:
        return dict.fromkeys(operators, Archive(store, keys, operators, epoch=epoch, hook=hook))
    return {name: Archive(store, keys, [name], epoch=epoch, hook=hook) for name in operators}


def _filled_slots(store: CheckpointStore, keys: FlowKeys, operator: str) -> Iterable[int]:
    """The slots of an operator that take up room."""
    prefix = keys.slots(operator)
    numbers = [name.removeprefix(prefix) for name in store.keys(prefix)]
    return [int(number) for number in numbers if number.isdecimal() and _takes_room(store, prefix + number)]


def _takes_room(store: CheckpointStore, key: str) -> bool:
    return any(version.size for version in store.versions(key))
