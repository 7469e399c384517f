"""Lets dead letters go their way again: an event back to its inbox, a row of a sink back to that sink's lane.

Each goes once: its entry is a key that the inbox or the outbox consumes in the same commit. The entry is marked after
that, so a crash between the two leaves an entry that can be reprocessed again, without effect.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.control.overtaking import Standing, Subject, standings
from holdfast.log import DeadLetterFilter, EntryState
from holdfast.log.dead_entry import SINK, STEP, unpacked
from holdfast.log.dead_values import NEW
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import HoldfastError, LogQuota

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from holdfast.control.belongings import Belongings
    from holdfast.log import DeadLetterEntry, Listed
    from holdfast.log.dead import Reading

_PAGE = 500
_POLL = 0.05


@dataclass(frozen=True, slots=True)
class Rate:
    """How many entries are reprocessed in a second, and how time passes."""

    per_second: float | None = None
    """None for as many as can be."""
    pause: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic

    @property
    def page(self) -> int:
        """How many go together."""
        return _PAGE if self.per_second is None else max(1, min(_PAGE, int(self.per_second)))

    def keep(self, since: float, done: int) -> None:
        """Wait until so many may be done since that time."""
        if self.per_second is not None:
            self.pause(max(0.0, since + done / self.per_second - self.now()))


@dataclass(frozen=True, slots=True)
class Refusal:
    """An entry that cannot be reprocessed, and why."""

    listed: Listed
    why: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entry that would be reprocessed."""

    listed: Listed
    standing: Standing


@dataclass(frozen=True, slots=True)
class Preview:
    """What would become of entries."""

    candidates: Sequence[Candidate]
    """Those that were overtaken come first."""
    refused: Sequence[Refusal]


@dataclass(frozen=True, slots=True)
class Reprocessed:
    """What became of the entries."""

    again: int = 0
    """Rows that are on their way again."""
    before: int = 0
    """Rows that were on their way again already."""
    refused: Sequence[Refusal] = ()


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that is to go its way again."""

    listed: Listed
    row: pa.Table
    target: str
    """The source or the sink."""


@dataclass(slots=True)
class _Page:
    """Some entries, sorted by where they go."""

    events: dict[str, list[_Row]] = field(default_factory=lambda: defaultdict(list))
    rows: dict[tuple[str, bytes], list[_Row]] = field(default_factory=lambda: defaultdict(list))
    """By sink and schema: rows of one batch have the same columns."""
    refused: list[Refusal] = field(default_factory=list)

    @property
    def ready(self) -> list[_Row]:
        return [row for rows in (*self.events.values(), *self.rows.values()) for row in rows]


class Reprocessing:
    """Reprocesses entries of one pipeline.

    :param into: another pipeline, whose inboxes and lanes take the rows. The entries are not marked then.
    :param patience: seconds to wait for room in an inbox or the outbox, before `LogQuota`.
    """

    def __init__(self, of: Belongings, *, into: Belongings | None = None, patience: float = 60.0) -> None:
        self._of = of
        self._into = into or of
        self._patience = patience

    def preview(self, chosen: DeadLetterFilter) -> Preview:
        """What would be reprocessed, and what cannot be."""
        found: list[tuple[Listed, Subject | None]] = []
        refused: list[Refusal] = []
        for page in self._pages(chosen, _PAGE):
            found += [(row.listed, Subject.of(row.row)) for row in page.ready]
            refused += page.refused
        known = standings([subject for _, subject in found], self._inbox_of)
        candidates = [Candidate(listed, standing) for (listed, _), standing in zip(found, known, strict=True)]
        candidates.sort(key=lambda each: (each.standing is not Standing.OVERTAKEN, each.listed.number))
        return Preview(candidates, refused)

    def run(self, chosen: DeadLetterFilter, rate: Rate) -> Reprocessed:
        """Let the entries go their way again, in the order in which they were put."""
        began, again, before, refused = rate.now(), 0, 0, list[Refusal]()
        for page in self._pages(chosen, rate.page):
            went = self._bring_back(page) + self._redeliver(page)
            again, before = again + went, before + len(page.ready) - went
            refused += page.refused
            rate.keep(began, again + before)
        return Reprocessed(again, before, refused)

    def _bring_back(self, page: _Page) -> int:
        """Let events come back to their inboxes; how many did that had not before."""
        went = 0
        for source, rows in page.events.items():
            events = {row.listed.entry_id: row.row for row in rows}
            went += self._into.inboxes[source].restore(events, timeout=self._patience).rows
            self._mark(rows)
        return went

    def _redeliver(self, page: _Page) -> int:
        """Publish rows once more for the lanes of their sinks; how many were that had not been before."""
        went = 0
        for (lane, _), rows in page.rows.items():
            self._wait_for_room()
            table = pa.concat_tables([row.row for row in rows])
            batch = self._into.outbox.redeliver(table, lane=lane, entries=[row.listed.entry_id for row in rows])
            if batch is not None:
                went += batch.rows
                self._into.published(batch)
            self._mark(rows)
        return went

    def _mark(self, rows: Sequence[_Row]) -> None:
        if self._into is not self._of:
            return
        done = DeadLetterFilter(ids={row.listed.entry_id for row in rows})
        self._of.dead_letters.mark(done, EntryState.REPROCESSED)

    def _wait_for_room(self) -> None:
        until = time.monotonic() + self._patience
        while not self._into.outbox.has_room():
            if time.monotonic() > until:
                raise LogQuota(
                    "The outbox has no room for rows that are to be delivered once more.",
                    kept="What went before is on its way; to reprocess again repeats none of it.",
                    remedy="Let the sinks take what is in the outbox, or raise its quota.",
                )
            time.sleep(_POLL)

    def _pages(self, chosen: DeadLetterFilter, size: int) -> Iterator[_Page]:
        return map(self._sorted, self._of.dead_letters.pages(chosen.about(NEW), size=size))

    def _sorted(self, read: Sequence[Reading]) -> _Page:
        page, lanes = _Page(), self._into.lanes()
        for listed, entry in read:
            went = str(entry) if isinstance(entry, HoldfastError) else self._way(listed, entry, lanes)
            if isinstance(went, str):
                page.refused.append(Refusal(listed, went))
            elif listed.stage.startswith(SINK):
                page.rows[went.target, went.row.schema.serialize().to_pybytes()].append(went)
            else:
                page.events[went.target].append(went)
        return page

    def _way(self, listed: Listed, entry: DeadLetterEntry, lanes: Collection[str]) -> _Row | str:
        """Where an entry goes; a sentence when it cannot go anywhere."""
        row = unpacked(entry.payload)
        if row is None or row.num_rows != 1:
            return "Its payload is no row."
        if listed.stage.startswith(SINK):
            lane = listed.stage.removeprefix(SINK)
            return _Row(listed, row, lane) if lane in lanes else f"There is no sink {lane!r} to deliver it to."
        if not listed.stage.startswith(STEP) or not row.schema.equals(ENVELOPE):
            return "Its payload is no event as an inbox has it."
        source = row["source"][0].as_py()
        return _Row(listed, row, source) if source in self._into.inboxes else f"There is no source {source!r} any more."

    def _inbox_of(self, source: str) -> Path | None:
        return self._into.layout.inbox(source) if source in self._into.inboxes else None
