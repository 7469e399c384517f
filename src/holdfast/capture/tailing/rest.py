"""When a file that has nothing new is believed to be at its end, and when one that failed is tried again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

IDLE_LOOKS = 2
"""So many looks in a row must find nothing new, however long they are apart."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


@dataclass(frozen=True, slots=True)
class Rest:
    """How long a file has not grown."""

    size: int
    since: float
    looks: int = 0

    def after(self, size: int, now: float) -> Rest:
        """What another look at the file says: anything new begins the wait anew."""
        return Rest(size, now) if size != self.size else Rest(size, self.since, self.looks + 1)

    def is_end(self, now: float, idle: float) -> bool:
        """Whether what has no newline yet will hardly get one."""
        return self.looks >= IDLE_LOOKS and now - self.since >= idle


@dataclass(frozen=True, slots=True)
class Trouble:
    """Failures in a row. One success ends them."""

    failures: int = 0
    since: float = 0.0

    def again(self, now: float) -> Trouble:
        """It failed once more."""
        return Trouble(self.failures + 1, now)

    @property
    def pause(self) -> float:
        """How long to leave the file alone: twice as long each time, up to a limit."""
        doublings = min(self.failures - 1, 16)
        return min(FIRST_PAUSE * 2.0**doublings, LONGEST_PAUSE) if self.failures else 0.0

    def is_over(self, now: float) -> bool:
        """Whether it may be tried again."""
        return now - self.since >= self.pause
