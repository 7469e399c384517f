"""What is said about dead letters without reading them: lists, filters, counts, and where the log stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.log.dead_limits import DeadLetterLimits


class EntryState(Enum):
    """What an operator did about an entry."""

    NEW = "new"
    ACKED = "acked"
    """Somebody has seen to it."""
    REPROCESSED = "reprocessed"
    """Its row is on its way again; should it fail again, that is another entry."""


NEW = frozenset({EntryState.NEW})
DONE = frozenset({EntryState.ACKED, EntryState.REPROCESSED})
"""Nobody needs these any more: they make room when room is needed."""


class Fate(Enum):
    """What became of a row that was given up."""

    RECORDED = "recorded"
    EVICTED = "evicted"
    """Its entry went to make room for a newer one."""
    REFUSED = "refused"
    """There was no room for its entry, so it was dropped on purpose."""
    EXPIRED = "expired"
    """Its entry was kept for as long as entries are kept."""
    PURGED = "purged"
    """Its entry was removed by an operator, or went after one had seen to it."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry as it stands in a list."""

    number: int
    """In the order in which entries were recorded; never used again."""
    entry_id: str
    time: datetime
    stage: str
    oseq: int
    ordinal: int
    event_id: str | None
    kind: str
    code: str
    state: EntryState


@dataclass(frozen=True, slots=True)
class Gone:
    """An entry that is not there any more, or never was, and why."""

    entry_id: str
    at: datetime
    stage: str
    oseq: int
    ordinal: int
    event_id: str | None
    kind: str
    fate: Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterFilter:
    """Which entries are meant: those for which everything holds that is said."""

    kinds: Set[str] = frozenset()
    """The kinds of errors; none means any, here and below."""
    stages: Set[str] = frozenset()
    """As `step:parse`."""
    sinks: Set[str] = frozenset()
    """The stages of these sinks, besides those that are named as stages."""
    ids: Set[str] = frozenset()
    since: datetime | None = None
    """Given up at this time or later."""
    until: datetime | None = None
    """Given up before this time."""
    states: Set[EntryState] = frozenset()
    """Every operation has states that it is about when none is named."""

    def about(self, states: Set[EntryState]) -> DeadLetterFilter:
        """The same, about these states unless it names some itself."""
        return self if self.states else replace(self, states=states)


ANY = DeadLetterFilter()


class Where(NamedTuple):
    """What entries are counted by."""

    stage: str
    kind: str


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one stage and kind."""

    count: int
    example: Listed
    """The oldest of them."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """How far somebody has looked through the entries, and when."""

    number: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Review:
    """What came since somebody has looked the last time."""

    since: datetime | None
    """When that was; None when it never was."""
    groups: Sequence[Group]
    """The entries that nobody has seen to, the most numerous first."""
    unseen: Mapping[Fate, int]
    """Those that went before anybody could look at them, by what became of them."""
    through: int
    """The number of the last entry that was looked at."""


@dataclass(frozen=True, slots=True)
class DeadLetterStatus:
    """Where the dead letters stand."""

    kept: int
    new: int
    """How many of them nobody has seen to."""
    limits: DeadLetterLimits
    totals: Mapping[Fate, int]
    """Since the log was made."""

    @property
    def is_full(self) -> bool:
        """Whether the next entry has to wait, drives another one out, or is refused."""
        return self.new >= self.limits.max_entries
