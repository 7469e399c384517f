"""Handles on a checkpoint store under test, and a clock that a test can foresee."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from holdfast.model.clock import utc_now

if TYPE_CHECKING:
    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.model.clock import Clock
    from tests.support.backends import Backend


@dataclass
class StoreFactory:
    """Opens handles on one backend and closes them when the test is over."""

    backend: Backend
    handles: ExitStack = field(default_factory=ExitStack)

    def open(self, clock: Clock = utc_now) -> CheckpointStore:
        """Another handle on the same data, as another process would have it."""
        store = self.backend.open(clock)
        self.handles.callback(store.close)
        return store

    def tamper(self, key: str, version: int) -> None:
        """Flip one byte of the stored payload of a version."""
        self.backend.tamper(key, version)


class TickingClock:
    """A clock that moves one second whenever it is read."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now
