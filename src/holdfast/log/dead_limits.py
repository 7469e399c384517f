"""How many dead letters are kept and how long, and what happens when there are too many. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from holdfast.model.errors import InvalidPipeline


class Overflow(Enum):
    """What becomes of a row that is given up when there is no room for its entry."""

    BLOCK = "block"
    """It waits, and its lane with it, until somebody makes room."""
    DROP_OLDEST = "drop_oldest"
    """It is recorded, and the oldest entry goes."""
    REJECT = "reject"
    """It is dropped on purpose: counted, listed for a while, and logged with its event id."""


@dataclass(frozen=True, slots=True)
class DeadLetterLimits:
    """Bounds of the dead letters of a pipeline."""

    max_entries: int = 100_000
    """Entries that were acknowledged or reprocessed count too, but they go first when a new one needs their place."""
    max_age: timedelta = timedelta(days=30)
    """After this time an entry goes, whatever its state; 0 keeps entries for ever."""
    overflow: Overflow = Overflow.BLOCK

    def __post_init__(self) -> None:
        if self.max_entries < 1 or self.max_age < timedelta(0):
            raise InvalidPipeline(
                f"{self} keeps no dead letters.",
                remedy="Let max_entries be 1 or more, and max_age 0 (no limit) or more.",
            )


@dataclass(frozen=True, slots=True)
class Admission:
    """What becomes of new entries, and of old ones because of them."""

    taken: int
    """How many of the new ones are recorded, from the first on."""
    cleared: int
    """How many old ones go that nobody needs any more."""
    evicted: int
    """How many go that somebody might still have wanted: the oldest."""


def admission(limits: DeadLetterLimits, *, kept: int, done: int, new: int) -> Admission:
    """Decide about `new` entries.

    :param kept: how many entries there are.
    :param done: how many of them were acknowledged or reprocessed.
    """
    over = max(0, kept + new - limits.max_entries)
    cleared = min(done, over)
    over -= cleared
    if limits.overflow is Overflow.DROP_OLDEST:
        return Admission(new, cleared, over)
    return Admission(max(0, new - over), cleared, 0)
