"""A store that is opened by the first call that needs it, so that a process can start while its server is away."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock

from holdfast.checkpoint.contract import CheckpointStore, Commit, Durability, Stored, Version
from holdfast.checkpoint.rules import closed


class LateStore(CheckpointStore):
    """Stands for a store that may not be reachable yet; every call tries to open it until one succeeds.

    :param open_store: opens it, or raises `StoreUnavailable`.
    """

    durability = Durability.REMOTE

    def __init__(self, open_store: Callable[[], CheckpointStore]) -> None:
        self._open_store = open_store
        self._store: CheckpointStore | None = None
        self._lock = Lock()
        self._closed = False

    def epoch(self) -> int:
        """The newest epoch the store has seen."""
        return self._opened().epoch()

    def take_over(self, *, at_least: int = 0) -> int:
        """Become the owner under a new epoch."""
        return self._opened().take_over(at_least=at_least)

    def keys(self, prefix: str = "") -> list[str]:
        """The keys present, sorted."""
        return self._opened().keys(prefix)

    def get_raw(self, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is absent."""
        return self._opened().get_raw(key)

    def versions(self, key: str) -> list[Version]:
        """The versions kept of `key`, oldest first."""
        return self._opened().versions(key)

    def get_version(self, key: str, version: int) -> Stored:
        """One version of `key`."""
        return self._opened().get_version(key, version)

    def commit(self, commit: Commit) -> Mapping[str, int]:
        """Apply a commit, all or none."""
        return self._opened().commit(commit)

    def prune(self, key: str, *, keep: int, epoch: int) -> int:
        """Forget all but the newest `keep` versions of `key`."""
        return self._opened().prune(key, keep=keep, epoch=epoch)

    def close(self) -> None:
        """Close the store, if it was ever opened."""
        with self._lock:
            self._closed = True
            if self._store is not None:
                self._store.close()

    def _opened(self) -> CheckpointStore:
        with self._lock:
            if self._closed:
                raise closed("The store")
            if self._store is None:
                self._store = self._open_store()
                self.durability = self._store.durability
            return self._store
