"""The dead letters of a pipeline: rows that can never be processed or delivered, kept with the reason.

Putting an entry twice changes nothing. What is put is durable when `put` returns, and only then may a cursor pass the
row. How many entries there may be is bounded, and every one that goes is counted and leaves its id behind for a while.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from threading import Condition
from typing import TYPE_CHECKING

from holdfast.log import dead_index as tables
from holdfast.log import dead_queries as queries
from holdfast.log.dead_limits import DeadLetterLimits, Overflow, admission
from holdfast.log.dead_store import DeadStore
from holdfast.log.dead_values import ANY, DONE, NEW, DeadLetterFilter, DeadLetterStatus, Fate, Review
from holdfast.log.opening import Owner
from holdfast.model.clock import Clock, utc_now
from holdfast.model.closing import Closing
from holdfast.model.errors import DeadLettersFull, HoldfastError
from holdfast.model.steps import StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Self

    from holdfast.log.dead_entry import DeadLetterEntry
    from holdfast.log.dead_store import Survey
    from holdfast.log.dead_values import EntryState, Gone, Listed, Where

Reading = tuple["Listed", "DeadLetterEntry | HoldfastError"]
"""An entry as it is listed, and what it is; where it cannot be read, why."""

GONE_FOR = timedelta(days=7)
GONE_AT_MOST = 100_000
"""So long, and so many, entries that are gone are listed."""
COUNTED_FOR = timedelta(days=7)
"""So far back it is known in which minute a row was given up."""


class DeadLetterLog(Closing):
    """The one writer of the dead letters, and their reader. Any thread of its process may call its methods."""

    def __init__(self, store: DeadStore, limits: DeadLetterLimits) -> None:
        self._store = store
        self._index = store.log.index
        self._limits = limits
        self._changed = Condition()
        self._is_closed = False
        self.uuid = store.log.identity.uuid

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        epoch: int,
        limits: DeadLetterLimits | None = None,
        hook: StepHook = no_hook,
        clock: Clock = utc_now,
    ) -> Self:
        """Make or reopen the dead letters, as the owner of this epoch; refusals as for `Inbox.open`."""
        return cls(DeadStore(directory, Owner(epoch, hook, clock)), limits or DeadLetterLimits())

    # Giving rows up

    def put(self, entries: Sequence[DeadLetterEntry], *, timeout: float | None = 0.0) -> int:
        """Record entries about which nothing was decided yet; how many were. They are durable when this returns.

        When there is no room for all of them, the policy decides. If that is to wait, some may be recorded before
        `DeadLettersFull` is raised: put all of them again later.

        :param timeout: how many seconds to wait for room; None for ever.
        """
        with self._changed:
            pending, recorded = entries, 0
            while pending := self._store.undecided(pending):
                decided = admission(self._limits, kept=self._kept, done=self._done, new=len(pending))
                self._store.record(pending, decided)
                recorded, pending = recorded + decided.taken, pending[decided.taken :]
                if pending and self._limits.overflow is Overflow.REJECT:
                    self._store.refuse(pending)
                    break
                if pending and not self._changed.wait_for(self._has_room, timeout):
                    raise self._full(len(pending))
            return recorded

    def rejected(self, stage: str, oseq: int) -> frozenset[int]:
        """The places of the rows of a batch that were given up at a stage, also when their entries are gone."""
        with self._changed, self._index.reading() as db:
            return queries.rejected(db, stage, oseq)

    def refused(self, stage: str, oseq: int) -> frozenset[int]:
        """The places of those rows for whose entries there was no room, so that they were dropped on purpose."""
        with self._changed, self._index.reading() as db:
            return queries.refused(db, stage, oseq)

    def sweep(self, *, released: int) -> int:
        """Let go what is too old, and forget what is gone for long; how many entries went.

        :param released: no lane is ever brought a batch up to this one again.
        """
        now, expired = self._store.log.owner.clock(), 0
        if self._limits.max_age:
            expired = self.remove(DeadLetterFilter(until=now - self._limits.max_age), Fate.EXPIRED)
        with self._changed, self._index.committing() as db:
            tables.forget_gone(db, before=now - GONE_FOR, beyond=GONE_AT_MOST, released=released)
            tables.fold(db, now - COUNTED_FOR)
        return expired

    # Looking at them

    def count(self) -> int:
        """How many entries there are."""
        with self._changed:
            return self._kept

    def counts(self, chosen: DeadLetterFilter = ANY) -> dict[Where, int]:
        """How many entries are meant, by stage and kind."""
        with self._changed, self._index.reading() as db:
            return queries.counts(db, chosen)

    def select(self, chosen: DeadLetterFilter = ANY, *, after: int = 0, limit: int = -1) -> list[Listed]:
        """The entries that are meant, behind number `after`, in the order in which they were put."""
        with self._changed, self._index.reading() as db:
            return queries.select(db, chosen, after=after, limit=limit)

    def read(self, listed: Sequence[Listed]) -> Sequence[Reading]:
        """The entries, each verified, but for those that went meanwhile."""
        with self._changed:
            found = self._store.read(listed)
        return [(each, found[each.number]) for each in listed if each.number in found]

    def pages(self, chosen: DeadLetterFilter = ANY, *, after: int = 0, size: int = 500) -> Iterator[Sequence[Reading]]:
        """The entries that are meant, read as by `read`, some at a time."""
        while page := self.select(chosen, after=after, limit=size):
            yield self.read(page)
            after = page[-1].number

    def entries(self, after: int = 0) -> Iterator[DeadLetterEntry]:
        """All entries behind number `after`, in the order in which they were put; verified."""
        for _, entry in chain.from_iterable(self.pages(after=after)):
            if isinstance(entry, HoldfastError):
                raise entry
            yield entry

    def gone(self, *, after: int = 0, limit: int = 1000) -> list[Gone]:
        """Entries that are gone, or never were recorded, behind number `after`; those that went last come first."""
        with self._changed, self._index.reading() as db:
            return queries.gone(db, after=after, limit=limit)

    def tallies(self, since: datetime | None = None) -> dict[tuple[Where, Fate], int]:
        """What became of rows from the minute of that time on, or ever: also of those that are gone by now."""
        with self._changed, self._index.reading() as db:
            return queries.tallies(db, since)

    def status(self) -> DeadLetterStatus:
        """Where the dead letters stand; also after they were closed."""
        with self._changed:
            return DeadLetterStatus(self._kept, self._kept - self._done, self._limits, +self._store.totals)

    # Seeing to them

    def review(self) -> Review:
        """What came since somebody has looked the last time. It counts as looked at after `note_review`."""
        with self._changed, self._index.reading() as db:
            last = queries.reviewed(db)
            unseen = Counter(gone.fate for gone in queries.gone(db, after=last.number))
            groups = queries.groups(db, DeadLetterFilter(states=NEW), after=last.number)
            return Review(last.at, groups, unseen, queries.last_number(db))

    def note_review(self, review: Review) -> None:
        """Somebody has looked at this."""
        with self._changed:
            self._store.note_review(review.through)

    def mark(self, chosen: DeadLetterFilter, state: EntryState) -> int:
        """Write down what was done about the entries that are meant; how many they are."""
        with self._making_room():
            return self._store.mark(chosen, state)

    def remove(self, chosen: DeadLetterFilter, fate: Fate = Fate.PURGED) -> int:
        """Let the entries go that are meant; how many they are."""
        with self._making_room():
            return self._store.remove(chosen, fate)

    def survey(self) -> Survey:
        """How many entries are of an older version, and which cannot be read."""
        with self._changed:
            return self._store.survey()

    def migrate(self) -> Survey:
        """Write entries of older versions down as the present one; what `survey` found before."""
        with self._changed:
            return self._store.migrate()

    def close(self) -> None:
        """Give up the files; what was put stays."""
        with self._making_room():
            self._is_closed = True
            self._store.log.close()

    @property
    def _kept(self) -> int:
        return sum(self._store.kept.values())

    @property
    def _done(self) -> int:
        return sum(self._store.kept[state] for state in DONE)

    def _has_room(self) -> bool:
        return self._kept - self._done < self._limits.max_entries or self._is_closed

    @contextmanager
    def _making_room(self) -> Iterator[None]:
        """Hold the lock, and wake whoever waits for room at the end."""
        with self._changed:
            yield
            self._changed.notify_all()

    def _full(self, waiting: int) -> DeadLettersFull:
        return DeadLettersFull(
            f"There are {self._kept} dead letters, as many as there may be, and {waiting} more wait.",
            kept="The rows are neither passed over nor lost; their lane waits.",
            remedy="See to the entries (reprocess, acknowledge or purge them), or raise max_entries.",
            waiting=waiting,
        )
