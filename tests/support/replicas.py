"""Replicated stores for tests: copied step by step, with a remote tier that can be switched off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put, Stored, Version
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CheckpointError, CommitStateUnknown, StoreUnavailable

NEVER_BY_ITSELF = timedelta(days=1)
STATE, OFFSET = "state", "offset"


class Switched(MemoryStore):
    """A remote tier in memory that can be down, or lose the answer to a commit."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        super().__init__(shelf)
        self.is_down = False
        self.loses_answer = False
        self.commits: list[Commit] = []

    def _open_shelf(self) -> Shelf:
        if self.is_down:
            raise StoreUnavailable("The server is down.", remedy="Start it.")
        return super()._open_shelf()

    def commit(self, commit: Commit) -> Mapping[str, int]:
        written = super().commit(commit)
        self.commits.append(commit)
        if self.loses_answer:
            self.loses_answer = False
            raise CommitStateUnknown("The answer is lost.", remedy="Read back.")
        return written


class Meddling(MemoryStore):
    """A local tier in which something happens at the moment a version is read for a copy."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        super().__init__(shelf)
        self.meddle: Callable[[], object] | None = None

    def get_version(self, key: str, version: int) -> Stored:
        meddle, self.meddle = self.meddle, None
        if meddle:
            meddle()
        return super().get_version(key, version)


def stepped(
    local: CheckpointStore,
    remote: CheckpointStore,
    *,
    clock: Clock = utc_now,
    without_remote: WithoutRemote = WithoutRemote.REFUSE,
    every: timedelta = NEVER_BY_ITSELF,
) -> ReplicatedStore:
    """A replicated store that copies only when it is told to."""
    return ReplicatedStore(local, remote, every=every, clock=clock, without_remote=without_remote)


def write_pair(store: CheckpointStore, number: int, epoch: int) -> Mapping[str, int]:
    """State and offset of the same number, in one commit."""
    return store.commit(Commit(epoch, [Put(STATE, b"state %d" % number), Put(OFFSET, b"offset %d" % number)]))


def read_pair(store: CheckpointStore) -> tuple[int, int] | None:
    """The numbers of the newest state and offset; None when there are none."""
    state, offset = store.get_raw(STATE), store.get_raw(OFFSET)
    if state is None and offset is None:
        return None
    assert state is not None
    assert offset is not None
    return int(state.payload.split()[1]), int(offset.payload.split()[1])


def lineage(store: CheckpointStore, key: str) -> list[Version]:
    """The versions of a key, or none when the store is away."""
    with suppress(CheckpointError):
        return store.versions(key)
    return []
