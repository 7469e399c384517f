"""Dead letters of the edge, read by its rules of now: what passes is appended to its log, and what does not stays.

An observation has its id as key, so what is in the log is not added again, whatever was forgotten meanwhile. While an
edge runs only it may write, so to reprocess takes its place; to look takes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from holdfast.control import Rate, stopped
from holdfast.log import (
    Appended,
    DeadLetterEntry,
    DeadLetterFilter,
    DeadLetterLog,
    DeadLetterReader,
    EntryState,
    Inbox,
    Where,
)
from holdfast.log.dead import Reading
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import HoldfastError
from holdfast.model.positions import Seq
from meridian.operation.outcomes import BEFORE, Outcome
from meridian.sensors import EdgeDocument, EdgeLog, ObservationColumns, SourceKind, events_of
from meridian.sensors.columns import joined
from meridian.sensors.letters import FOLDER, LIMITS, STAGE, owned
from meridian.sensors.screening import Screen
from meridian.sensors.second_look import kind_of_log, screen_of, second_look

_EPOCH = 1
"""Of every owner of an edge's logs; who opens them last owns them."""
_PATIENCE = 60.0
_OUTSIDE = "outside of the area of interest"


@dataclass(frozen=True, slots=True)
class Passed:
    """Letters of one place that pass now, with what they say, and why the others do not."""

    ids: Sequence[str]
    good: ObservationColumns | None
    skipped: Counter[str]


@dataclass(frozen=True, slots=True)
class EdgeLetters:
    """The dead letters in the directory of one edge."""

    directory: Path
    document: EdgeDocument

    def preview(self, chosen: Mapping[Where, DeadLetterFilter]) -> dict[Where, Outcome]:
        """What would become of them; nothing is written, and the edge may run."""
        screen, found = screen_of(self.document), dict[Where, Outcome]()
        with DeadLetterReader.open(self.directory / FOLDER) as reader:
            for where, filter_ in chosen.items():
                passed = [looked_at(where, page, screen) for page in reader.pages(filter_)]
                found[where] = sum((Outcome(len(each.ids), each.skipped) for each in passed), Outcome())
        return found

    def run(self, chosen: Mapping[Where, DeadLetterFilter], *, rate: Rate, into: Path | None) -> dict[Where, Outcome]:
        """Append what passes to the edge's logs and mark it, or give it to the inboxes of a pipeline, unmarked."""
        screen, began, found = screen_of(self.document), rate.now(), dict[Where, Outcome]()
        with ExitStack() as held:
            held.enter_context(owned(self.directory))
            dead = held.enter_context(DeadLetterLog.open(self.directory / FOLDER, epoch=_EPOCH, limits=LIMITS))
            logs = set(map(_log_of, chosen))
            way = self._way(held, dead, logs) if into is None else self._way_into(held, into, logs)
            for where, filter_ in chosen.items():
                found[where] = Outcome()
                for page in dead.pages(filter_, size=rate.page):
                    found[where] += way.go(_log_of(where), looked_at(where, page, screen))
                    rate.keep(began, sum(each.again for each in found.values()))
        return found

    def _way(self, held: ExitStack, dead: DeadLetterLog, logs: Iterable[str]) -> Way:
        places = {log: self.directory / log for log in logs}
        inboxes = {
            log: held.enter_context(Inbox.open(place, name=log, epoch=_EPOCH))
            for log, place in places.items()
            if place.exists()
        }

        def mark(ids: Sequence[str]) -> None:
            dead.mark(DeadLetterFilter(ids=frozenset(ids)), EntryState.REPROCESSED)

        return Way(inboxes, append, mark)

    def _way_into(self, held: ExitStack, pipeline: Path, logs: Iterable[str]) -> Way:
        """Into inboxes that have had an event: nothing can come back to the others."""
        inboxes = held.enter_context(stopped(pipeline)).inboxes
        sources = {log: EdgeLog(self.directory, log, consumer="reprocessing").name for log in logs}
        ready = {
            log: inboxes[source]
            for log, source in sources.items()
            if source in inboxes and inboxes[source].position() is not None
        }
        return Way(ready, restore, lambda ids: None)


@dataclass(frozen=True, slots=True)
class Way:
    """Where letters go that pass.

    :param taken: is told the ids of letters of which everything is durable there.
    """

    inboxes: Mapping[str, Inbox]
    append: Callable[[Inbox, ObservationColumns], Appended]
    taken: Callable[[Sequence[str]], None]

    def go(self, log: str, passed: Passed) -> Outcome:
        """Let them go to the log that they were meant for, but for what it has already."""
        if passed.good is None:
            return Outcome(0, passed.skipped)
        if log not in self.inboxes:
            return Outcome(0, passed.skipped + Counter({f"there is no {log} to take it": len(passed.ids)}))
        left_out = self.append(self.inboxes[log], passed.good).left_out
        self.taken(passed.ids)
        before = min(left_out, len(passed.ids))
        return Outcome(len(passed.ids) - before, passed.skipped + +Counter({BEFORE: before}))


def append(inbox: Inbox, good: ObservationColumns) -> Appended:
    """Make observations durable in a log of the edge; where it was to ask its archive next is left as it was."""
    events, keys = events_of(good, inbox.name), good.keys()
    if kind_of_log(inbox.name) is SourceKind.OPTICAL:
        return inbox.append(events, position=inbox.position() or Seq(0), keys=keys, timeout=_PATIENCE)
    return inbox.push(events, keys=keys, timeout=_PATIENCE).result()


def restore(inbox: Inbox, good: ObservationColumns) -> Appended:
    """Make observations durable in the inbox of a pipeline that follows such a log; where it stands is left."""
    events = pa.Table.from_batches([events_of(good, inbox.name)])
    numbered = events.add_column(0, ENVELOPE.field("seq"), pa.array([0] * len(good), pa.int64())).cast(ENVELOPE)
    rows = {key: numbered.slice(place, 1) for place, key in enumerate(good.keys())}
    return inbox.restore(rows, timeout=_PATIENCE)


def looked_at(where: Where, page: Sequence[Reading], screen: Screen) -> Passed:
    """Which letters of a page pass now. A letter passes whole, or not at all."""
    kind = kind_of_log(_log_of(where))
    ids, good, skipped = list[str](), list[ObservationColumns](), Counter[str]()
    for listed, entry in page:
        seen = entry.code if isinstance(entry, HoldfastError) else _seen(kind, entry, screen)
        if isinstance(seen, str):
            skipped[seen] += 1
        else:
            ids.append(listed.entry_id)
            good.append(seen)
    return Passed(ids, joined(good) if good else None, skipped)


def _seen(kind: SourceKind | None, entry: DeadLetterEntry, screen: Screen) -> ObservationColumns | str:
    """What an entry says; why it says nothing, if it does not."""
    if kind is None:
        return "of no known network"
    screened = second_look(kind, entry.payload, screen, round(entry.time.timestamp() * 1e6) * 1000)
    if screened.refused:
        return f"refused again: {screened.refused[0].kind.value}"
    return screened.good if len(screened.good) else _OUTSIDE


def _log_of(where: Where) -> str:
    return where.stage.removeprefix(STAGE)
