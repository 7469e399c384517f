"""The one object behind every face: the command line, the screen, plots, metrics. It only reads.

What fusion has found stands in its tables, what it is doing its process says, and what the edge does the edge says. It
remembers a little from one look to the next, so that it can tell what changes; nothing of that is kept on disk.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.model.errors import InvalidRequest
from holdfast.runtime.layout import Layout
from meridian.fusion.life import Stage
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, IS_OVER, OBJECTS, PROGRESS, WORDS
from meridian.fusion.rows import SLOTS
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.service import logs, reading
from meridian.service.accounts import Accounts, Books, edge_account, fusion_account
from meridian.service.alarms import alarms
from meridian.service.conjunction_message import conjunction_message
from meridian.service.delays import Delay, Passing, Spoken, timed
from meridian.service.edge import ask_edge
from meridian.service.lineage import Lineage, lineage_of
from meridian.service.memory import Memory
from meridian.service.names import Names
from meridian.service.occupancies import Samples, bottleneck, occupancies, sampled
from meridian.service.outages import outages, starts_of
from meridian.service.pipeline import ask_pipeline
from meridian.service.tables import Tables
from meridian.service.values import ConjunctionSeen, Missed, ObjectKnown, Occupancy, Progress, Snapshot, WordSaid

if TYPE_CHECKING:
    from holdfast.flow import Metric
    from holdfast.log import Published
    from meridian.orbit.cdm import ConjunctionMessage
    from meridian.service.seen import DeadLetters, EdgeSeen, FeedSeen
    from meridian.service.tables import Row

_NEWEST_WORDS = 50
_MOST_WITHDRAWN = 20
_LOOKED_AT = 300
"""So many batches are looked at again with every look."""
_HEARD = 5000
"""So many of the newest words are looked through for those that were not counted yet."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered from one look to the next."""

    memory: Memory = field(default_factory=Memory)
    books: Books = field(default_factory=Books)
    passing: Passing = field(default_factory=Passing)
    spoken: Spoken = field(default_factory=Spoken)
    samples: Samples = ()
    queues: Sequence[Occupancy] = ()


class Service:
    """What there is to know of an operation. Any thread may ask.

    :param directory: the home of the operation.
    :param control: host and port of the control plane of the edge; None when nobody is to be asked.
    :param figures: what is counted within this process, as by the branches from the logs into fusion.
    """

    def __init__(
        self,
        directory: Path,
        control: str | None = None,
        *,
        figures: Callable[[], Sequence[Metric]] = tuple,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._home = Home(directory)
        self._tables = Tables(directory)
        self._names = Names(self._home.catalog)
        self._control = control
        self._figures = figures
        self._now_ns = now_ns
        self._looking = threading.Lock()
        self._known = _Known()

    def snapshot(self) -> Snapshot:
        """Everything as it is now. What changes from one call to the next is told too: so call it again and again."""
        with self._looking:
            return self._looked()

    def conjunctions(self) -> Sequence[ConjunctionSeen]:
        """Those on which somebody may have to act, the soonest first."""
        behind = f"WHERE NOT {IS_OVER} ORDER BY closest_ns, conjunction_id"
        return self._conjunctions(behind)

    def conjunctions_over(self, limit: int) -> Sequence[ConjunctionSeen]:
        """Those that were withdrawn or have passed, the last one first."""
        behind = f"WHERE {IS_OVER} ORDER BY closest_ns DESC, conjunction_id LIMIT ?1"
        return self._conjunctions(behind, limit)

    def conjunction(self, conjunction_id: str) -> ConjunctionSeen | None:
        """One of them, also when it is over; nothing when there is none, or it is forgotten."""
        return next(iter(self._conjunctions("WHERE conjunction_id = ?1", conjunction_id)), None)

    def message(self, conjunction_id: str) -> ConjunctionMessage:
        """A conjunction as a CCSDS message, by the catalog and the tracks of now."""
        found = self.conjunction(conjunction_id)
        if found is None:
            raise _no_such(conjunction_id)
        catalog = {each.object_id: each for each in read_elements(self._home.catalog)}
        pair = (found.object_a, found.object_b)
        missing = [each for each in pair if each not in catalog]
        if missing:
            raise InvalidRequest(
                f"The catalog has no elements of {' and '.join(missing)} any more.",
                remedy="Import the elements again with `meridian catalog import`.",
            )
        tracks = {each: known for each in pair if (known := self.object(each)) is not None}
        return conjunction_message(found, [catalog[each] for each in pair], tracks, self._now_ns())

    def objects(self) -> Sequence[ObjectKnown]:
        """The catalog as all sensors together know it, by name."""
        return [reading.known_object(row) for row in self._tables.rows(OBJECTS.table, "ORDER BY object_id")]

    def object(self, object_id: str) -> ObjectKnown | None:
        """One object of it; nothing when it was never observed."""
        found = self._tables.rows(OBJECTS.table, "WHERE object_id = ?1", object_id)
        return reading.known_object(found[0]) if found else None

    def words(self, limit: int = _NEWEST_WORDS) -> Sequence[WordSaid]:
        """The newest words, the last one first."""
        rows = self._tables.rows(WORDS, "ORDER BY rowid DESC LIMIT ?1", limit)
        return self._names.of([reading.word(row) for row in rows])

    def history(self) -> Sequence[Progress]:
        """How the newest batches went, oldest first; those before the first observation are left out."""
        return [each for each in self._history(SLOTS)[0] if each.at_ns]

    def misses(self, conjunction_id: str) -> Sequence[Missed]:
        """What was said of how near a passage is, in the order in which it was said."""
        found = self._tables.rows(CONJUNCTIONS.table, "WHERE conjunction_id = ?1", conjunction_id)
        if not found:
            return []
        return reading.missed(self._of_passage(WORDS, found[0], "ORDER BY rowid"))

    def lineage(self, alert_id: str) -> Lineage:
        """From which observations the last word on an alert was made.

        :param alert_id: of an alert, or of a conjunction: then the alert of its newest window is meant.
        """
        found = self._tables.rows(ALERTS.table, "WHERE alert_id = ?1", alert_id)
        if not found:
            passages = self._tables.rows(CONJUNCTIONS.table, "WHERE conjunction_id = ?1", alert_id)
            newest = "ORDER BY window_end_ns DESC LIMIT 1"
            found = self._of_passage(ALERTS.table, passages[0], newest) if passages else []
        if not found:
            raise _no_such(alert_id)
        return lineage_of(reading.word(found[0]), self._home)

    def _conjunctions(self, behind: str, *values: str | int) -> list[ConjunctionSeen]:
        rows = self._tables.rows(CONJUNCTIONS.table, behind, *values)
        return self._names.of([reading.conjunction(row) for row in rows])

    def _withdrawn(self, now_ns: int) -> list[ConjunctionSeen]:
        """Those whose time is still to come."""
        behind = "WHERE stage = ?1 AND closest_ns > ?2 ORDER BY closest_ns, conjunction_id LIMIT ?3"
        return self._conjunctions(behind, Stage.WITHDRAWN.value, now_ns, _MOST_WITHDRAWN)

    def _of_passage(self, table: str, passage: Row, order: str) -> list[Row]:
        behind = f"WHERE object_a = ?1 AND object_b = ?2 AND encounter_ns = ?3 {order}"
        return self._tables.rows(
            table, behind, str(passage["object_a"]), str(passage["object_b"]), int(str(passage["encounter_ns"]))
        )

    # One look

    def _looked(self) -> Snapshot:
        """The edge is asked last: then what it has and fusion has not is on its way (see `accounts`)."""
        known, history, judged = self._known, *self._history(_LOOKED_AT)
        pipeline = ask_pipeline(self._home.pipeline)
        feeds = logs.feeds(self._home.pipeline, judged)
        of_fusion = logs.given_up(Layout(self._home.pipeline).dead_letters)
        dead = [*logs.given_up(self._home.edge / "dead").letters, *of_fusion.letters]
        edge = None if self._control is None else ask_edge(self._control)
        now, progress = self._now_ns(), history[-1] if history else None
        full = occupancies(edge, feeds, pipeline)
        samples, passing = sampled(known.samples, full, known.queues, now), known.passing.after(history)
        down = outages(history, starts_of(self._home.pipeline))
        spoken = known.spoken.after(self._said_after(known.spoken.newest), history, now, down)
        books, accounts = _accounts(known.books, edge, feeds, progress, of_fusion.of_steps)
        seen = Snapshot(
            at_ns=now,
            progress=progress,
            conjunctions=self.conjunctions(),
            withdrawn=self._withdrawn(now),
            words=self.words(),
            objects=self._tables.count(OBJECTS.table),
            occupancies=full,
            bottleneck=bottleneck(samples, full),
            dead_letters=_by_kind(dead),
            drops=_drops(edge),
            is_running=pipeline is not None,
            is_edge_asked=self._control is not None,
            edge=edge,
            pipeline=pipeline,
            feeds=feeds,
            figures=self._figures(),
            dead=dead,
            accounts=accounts,
            pipeline_lags=passing.lags,
            delay=Delay.of(spoken.words),
        )
        memory = known.memory.after(seen)
        self._known = _Known(memory, books, passing, spoken, samples, full)
        return replace(seen, alarms=alarms(seen, memory))

    def _said_after(self, batch: int) -> list[WordSaid]:
        """What was said in later batches than this one; what was taken back is not."""
        newest = f"rowid > (SELECT max(rowid) FROM {WORDS}) - ?1"
        rows = self._tables.rows(WORDS, f"WHERE {newest} AND batch > ?2 AND kind = 'insert'", _HEARD, batch)
        return [reading.word(row) for row in rows]

    def _history(self, limit: int) -> tuple[list[Progress], Published | None]:
        """The newest batches, oldest first, and the last one of the outbox that they tell of.

        Every batch of Spark has one row, so from the last on they are the same ones in the same order.
        """
        rows, oseq = self._tables.reached(PROGRESS.table, "ORDER BY batch DESC LIMIT ?1", limit)
        history = [reading.progress(row) for row in reversed(rows)]
        batches = logs.published(self._home.pipeline, upto=oseq, count=limit) if oseq else []
        times = {
            row.batch: round(batch.published_at.timestamp() * 1e9)
            for row, batch in zip(reversed(history), reversed(batches), strict=False)
        }
        return timed(history, times), batches[-1] if batches else None


def _no_such(alert_id: str) -> InvalidRequest:
    return InvalidRequest(
        f"There is no alert and no conjunction {alert_id}.",
        remedy="List the conjunctions that stand with `meridian alerts`.",
    )


def _accounts(
    books: Books, edge: EdgeSeen | None, feeds: Sequence[FeedSeen], progress: Progress | None, given_up: int
) -> tuple[Books, Accounts]:
    if edge is None:
        return books, Accounts()
    of_edge = {sensor.source: edge_account(sensor) for sensor in edge.sensors}
    books, of_fusion = books.after(edge, fusion_account(edge, feeds, progress, given_up))
    return books, Accounts(of_edge, of_fusion)


def _by_kind(dead: Sequence[DeadLetters]) -> dict[str, int]:
    kinds: Counter[str] = Counter()
    for each in dead:
        kinds[each.kind] += each.count
    return dict(kinds)


def _drops(edge: EdgeSeen | None) -> dict[str, int]:
    sensors = edge.sensors if edge else ()
    return {f"{each.source} {cause}": count for each in sensors for cause, count in each.drops.items() if count}
