"""A clock that stands still until a test moves it: no test waits for real time, and none depends on it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from threading import Condition
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

_START = datetime(2030, 1, 1, tzinfo=UTC)


class _Sleeper(NamedTuple):
    due: float
    condition: Condition


class ManualClock:
    """A clock of `holdfast.deliver` that a test moves by hand. Threads may wait on it."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._sleepers: list[_Sleeper] = []
        self._changed = Condition()

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._seconds

    def now(self) -> datetime:
        """The time of day that belongs to it."""
        return _START + timedelta(seconds=self._seconds)

    def wait(self, condition: Condition, seconds: float | None) -> None:
        """Wait until notified or until the clock was moved far enough."""
        if seconds is None:
            condition.wait()
            return
        sleeper = _Sleeper(self._seconds + seconds, condition)
        with self._changed:
            self._sleepers.append(sleeper)
            self._changed.notify_all()
        try:
            condition.wait()
        finally:
            with self._changed:
                self._sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        """Move the clock, and wake everybody whose time has come."""
        with self._changed:
            self._seconds += seconds
            due = [sleeper.condition for sleeper in self._sleepers if sleeper.due <= self._seconds]
        for condition in due:
            with condition:
                condition.notify_all()

    def advance_to_next(self) -> bool:
        """Move the clock to the first moment that somebody waits for; False when nobody does."""
        with self._changed:
            pending = [sleeper.due for sleeper in self._sleepers if sleeper.due > self._seconds]
        if pending:
            self.advance(min(pending) - self._seconds)
        return bool(pending)

    def wait_for_sleepers(self, count: int = 1, *, limit: float = 20.0) -> None:
        """Return when so many threads wait for time to pass. The limit is in real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting() >= count, limit):
                message = f"{self._waiting()} threads wait for time to pass, not {count}"
                raise TimeoutError(message)

    def run_until(self, holds: Callable[[], bool], *, limit: float = 60.0) -> None:
        """Move the clock from one moment to the next until something holds. The limit is in real seconds."""
        give_up = time.monotonic() + limit
        while not holds():
            if time.monotonic() > give_up:
                message = f"it does not hold after {limit} s"
                raise TimeoutError(message)
            if not self.advance_to_next():
                with self._changed:
                    self._changed.wait(0.002)

    def _waiting(self) -> int:
        return sum(sleeper.due > self._seconds for sleeper in self._sleepers)
