"""Writes the cursors into the checkpoint store, under the owner's epoch, and tells the ledger when they are durable."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.checkpoint.cursors import CURSORS
from holdfast.model.errors import StoreFull, StoreReadOnly, StoreUnavailable
from holdfast.model.steps import Step, StepHook

if TYPE_CHECKING:
    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.deliver.core import Core
    from holdfast.ledger.cursors import Cursors


class CursorKeeper:
    """The cursors' place in the store.

    :param keep_versions: how many versions stay; older ones are pruned now and then.
    """

    def __init__(self, core: Core, store: CheckpointStore, *, epoch: int, keep_versions: int, hook: StepHook) -> None:
        self._core = core
        self._store = store
        self._epoch = epoch
        self._keep_versions = keep_versions
        self._hook = hook
        self.writes = 0

    def write(self, cursors: Cursors) -> None:
        """Make these cursors durable."""
        self._hook(Step.CURSOR_WRITE)
        self._store.put(CURSORS, cursors, epoch=self._epoch)
        self._hook(Step.CURSOR_WRITTEN)
        self._are_durable(cursors)
        self._prune_now_and_then()

    def _are_durable(self, cursors: Cursors) -> None:
        core = self._core
        with core.lock:
            lanes_were_waiting = not core.is_opened()
            core.durable = cursors
            core.ledger.persisted(cursors)
            core.news.notify_all()
            if lanes_were_waiting:
                core.ring()

    def _prune_now_and_then(self) -> None:
        self.writes += 1
        if self.writes % self._keep_versions == 0:
            with suppress(StoreUnavailable, StoreFull, StoreReadOnly):
                self._store.prune(CURSORS.name, keep=self._keep_versions, epoch=self._epoch)
