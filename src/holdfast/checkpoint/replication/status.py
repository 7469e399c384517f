"""What is on its way to the remote tier, and how its state is reported. No I/O, no threads.

What is pending is the newest version of each changed key, never a queue of commits: it is as large as the number of
keys, however long the remote tier is away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

LAGGING_AFTER = 2
"""A commit that has waited for so many cadences is late."""

LONGEST_BACK_OFF = timedelta(minutes=5)


class Standing(Enum):
    """How the two tiers stand to each other."""

    NOT_OWNER = "nobody has taken over through this store"
    IN_STEP = "both tiers are owned under the same epoch"
    DETACHED = "the local tier was taken over while the remote one could not be reached"
    BEHIND = "the remote tier holds checkpoints that the local one lacks"
    FENCED = "another host has taken over the remote tier"


_REMEDIES = {
    Standing.NOT_OWNER: "Take over before writing.",
    Standing.DETACHED: "See to the remote tier; until it is back, make sure that no other host runs this pipeline.",
    Standing.BEHIND: "Recover, which brings the local tier up to the remote one.",
    Standing.FENCED: "Stop this instance: another host has taken over.",
}


class Health(Enum):
    """Whether the copies keep up."""

    OK = "ok"
    LAGGING = "lagging"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Replication:
    """The state of the copies at one moment."""

    standing: Standing
    keys_behind: int
    commits_behind: int
    oldest_age: float
    """Seconds since the oldest commit that is not remote yet; 0 when everything is."""
    last_success: datetime | None
    last_error: str | None
    """Why the newest attempt failed; None after a success."""
    failures: int
    """Attempts that failed in a row."""
    health: Health
    remedy: str | None
    """What to do about it, a whole sentence; None when nothing."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """How the attempts to copy went."""

    last_success: datetime | None = None
    last_error: str | None = None
    failures: int = 0

    def succeeded(self, now: datetime) -> Attempts:
        """After a copy, or a look that found nothing to copy."""
        return Attempts(now)

    def failed(self, error: BaseException) -> Attempts:
        """After an attempt that raised."""
        return Attempts(self.last_success, str(error) or repr(error), self.failures + 1)


@dataclass(slots=True)
class Pending:
    """What changed since the newest copy."""

    versions: dict[str, int | None] = field(default_factory=dict)
    """The newest local version of each changed key; 0 when it was deleted, None when it must be looked up."""
    commits: int = 0
    since: datetime | None = None
    """When the oldest of these commits was made."""

    def add(self, written: Mapping[str, int | None], now: datetime) -> None:
        """A commit was made, or may have been."""
        self.versions.update(written)
        self.commits += 1
        self.since = self.since or now

    def note(self, keys: Iterable[str], now: datetime) -> None:
        """Keys differ for another reason than a commit of this process."""
        for key in keys:
            self.versions.setdefault(key, None)
        self.since = self.since or now

    def put_back(self, earlier: Pending) -> None:
        """A copy failed: what it held is pending again, unless there is something newer."""
        self.versions = {**earlier.versions, **self.versions}
        self.commits += earlier.commits
        self.since = earlier.since or self.since

    def settle(self, keys: Iterable[str]) -> None:
        """These keys need no copy any more."""
        for key in keys:
            self.versions.pop(key, None)
        if not self.versions:
            self.commits, self.since = 0, None

    def age(self, now: datetime) -> float:
        """Seconds since the oldest of the commits."""
        return max(0.0, (now - self.since).total_seconds()) if self.since else 0.0


def report(standing: Standing, pending: Pending, attempts: Attempts, *, now: datetime, every: timedelta) -> Replication:
    """The state as a value, judged."""
    age = pending.age(now)
    health, remedy = _judge(standing, attempts, is_late=age > LAGGING_AFTER * every.total_seconds())
    return Replication(
        standing=standing,
        keys_behind=len(pending.versions),
        commits_behind=pending.commits,
        oldest_age=age,
        last_success=attempts.last_success,
        last_error=attempts.last_error,
        failures=attempts.failures,
        health=health,
        remedy=remedy,
    )


def back_off(every: timedelta, failures: int) -> timedelta:
    """How long to wait before the next attempt: the cadence, doubled for every failure in a row."""
    doubled: timedelta = every * (1 << min(failures, 16))
    return min(doubled, max(every, LONGEST_BACK_OFF))


def _judge(standing: Standing, attempts: Attempts, *, is_late: bool) -> tuple[Health, str | None]:
    if standing is not Standing.IN_STEP:
        return Health.FAILING, _REMEDIES[standing]
    if attempts.last_error:
        return Health.FAILING, "See to the remote tier; copying goes on by itself when it is back."
    if is_late:
        return Health.LAGGING, "Copy more often, or give the remote tier more bandwidth."
    return Health.OK, None
