"""From an alert back to the observations it was made from: where each lies in which log, and what is gone already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.log import InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import HoldfastError, LogMissing
from meridian.fusion.windows import SECOND, Windows
from meridian.operation.home import Home
from meridian.orbit.time import format_ccsds
from meridian.sensors import Row, columns_of
from meridian.sensors.events import time_of
from meridian.sensors.identity import id_texts
from meridian.service.tracing import Traced, picked

if TYPE_CHECKING:
    from meridian.fusion.contributions import Contributions
    from meridian.sensors import ObservationColumns
    from meridian.service.values import WordSaid

EARLIEST_NS = 10 * SECOND
"""So long before its own time an observation may have come in: clocks of sensors are ahead by less."""
LATEST_NS = 300 * SECOND
"""So long after the end of the window what comes in is looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What was found of one of the two objects.

    :param expected: so many observations the word is from.
    :param observations: those that they are, when `is_verified`; otherwise all that could be among them.
    :param missing: what is gone, and why the rest could not be told apart; empty when nothing is missing.
    """

    object_id: str
    expected: int
    observations: Sequence[Traced]
    is_verified: bool
    missing: str = ""

    def __str__(self) -> str:
        if self.is_verified:
            head = f"{self.object_id}: {self.expected} observations, verified by their digest."
        else:
            head = f"{self.object_id}: {self.expected} observations, of which not all can be shown. {self.missing}"
        rows = [_cells(each) for each in self.observations]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, widths)) for row in rows)
        return "\n".join([head, *(f"  {line.rstrip()}" for line in lines)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """What an alert was made from.

    :param window_start_ns: observations from here on, and before the end of the window, were looked at together.
    """

    word: WordSaid
    window_start_ns: int
    window_end_ns: int
    evidence: tuple[Evidence, Evidence]

    @property
    def is_complete(self) -> bool:
        """Whether every observation was found, and is proved to be one."""
        return all(each.is_verified for each in self.evidence)

    def __str__(self) -> str:
        word = self.word
        pair, closest = f"{word.object_a} and {word.object_b}", format_ccsds(word.closest_ns)[:23]
        said = f"{word.kind} {word.sequence}{', early' if word.is_early else ''}, in batch {word.batch}"
        start, end = (format_ccsds(time_ns)[:19] for time_ns in (self.window_start_ns, self.window_end_ns))
        head = [
            f"{pair} pass at {closest} within {word.miss_m:,.0f} m.",
            f"Alert {word.alert_id}, {said}; {_cause(word)}.",
            f"From what was seen between {start} and {end}:",
        ]
        return "\n".join([*head, *map(str, self.evidence)])


def lineage_of(word: WordSaid, home: Home, windows: Windows | None = None) -> Lineage:
    """Look the observations of a word up in the logs of the edge."""
    windows = windows or Windows()
    start, end = word.window_end_ns - 2 * windows.size, word.window_end_ns
    with ExitStack() as held:
        logs = [held.enter_context(each) for each in _logs(home.edge)]
        searched = [_Searched.of(log, home, start, end) for log in logs]
    found = _named(searched, home, {word.object_a, word.object_b})
    gaps = [gap for each in searched if (gap := each.gap)] or ([] if searched else ["The edge has no logs here."])
    pairs = zip((word.object_a, word.object_b), word.observed, word.digests, strict=True)
    first, second = (_evidence(name, found, count, digest, gaps) for name, count, digest in pairs)
    return Lineage(word=word, window_start_ns=start, window_end_ns=end, evidence=(first, second))


def _evidence(name: str, found: Sequence[Traced], count: int, digest: int, gaps: Sequence[str]) -> Evidence:
    candidates = [each for each in found if each.object_id == name]
    chosen = picked(candidates, count, digest)
    if chosen is not None:
        return Evidence(object_id=name, expected=count, observations=chosen, is_verified=True)
    why = " ".join(gaps) or "Which of those that are there it was made from cannot be told."
    return Evidence(object_id=name, expected=count, observations=candidates, is_verified=False, missing=why)


@dataclass(frozen=True, slots=True)
class _Searched:
    """What one log has of a window."""

    columns: Sequence[tuple[str, ObservationColumns, Sequence[int]]]
    gap: str = ""
    raw_since: datetime | None = None

    @classmethod
    def of(cls, log: InboxReader, home: Home, start: int, end: int) -> _Searched:
        first, last = log.first(), log.end()
        begin = _bisected(log, first, last, time_of(start - EARLIEST_NS))
        until = _bisected(log, begin, last, time_of(end + LATEST_NS))
        gap = ""
        if first > 1 and begin == first:
            gap = f"{log.name} has forgotten its events before {first}."
        return cls(list(_within(log, begin, until, start, end)), gap, _raw_since(home, log.name))


def _within(
    log: InboxReader, begin: int, until: int, start: int, end: int
) -> Iterator[tuple[str, ObservationColumns, Sequence[int]]]:
    for events in log.read(begin - 1, until - 1) if until > begin else ():
        columns = columns_of(events.select(CAPTURED.names))
        times = columns.records["sensor_ts_ns"]
        chosen = (times >= start) & (times < end) & (columns.records["row"] == Row.OBSERVATION)
        if chosen.any():
            yield log.name, columns.where(chosen), events["seq"].filter(pa.array(chosen)).to_pylist()


def _named(searched: Sequence[_Searched], home: Home, objects: set[str]) -> list[Traced]:
    """What was seen of these objects; those that telescopes saw without a name are named as fusion names them."""
    contributions: Contributions | None = None
    found: list[Traced] = []
    for each in searched:
        for log, columns, numbers in each.columns:
            names = columns.object_ids.to_pylist()
            if None in names:
                contributions = contributions or _contributions(home)
                names = _resolved(columns, names, contributions)
            found += _traced(log, columns, numbers, names, objects, each.raw_since)
    return found


def _resolved(
    columns: ObservationColumns, names: list[str | None], contributions: Contributions | None
) -> list[str | None]:
    if contributions is None:
        return names
    known = contributions.objects
    return [known[number] if number >= 0 else None for number in contributions.numbers(columns).tolist()]


def _traced(
    log: str,
    columns: ObservationColumns,
    numbers: Sequence[int],
    names: Sequence[str | None],
    objects: set[str],
    raw_since: datetime | None,
) -> Iterator[Traced]:
    ids, sources = id_texts(columns.records["observation_id"]).to_pylist(), columns.source_ids.to_pylist()
    for row, name in enumerate(names):
        if name in objects and name is not None:
            came = int(columns.records["ingest_ts_ns"][row])
            yield Traced(
                observation_id=ids[row],
                source_id=sources[row],
                object_id=name,
                sensor_ts_ns=int(columns.records["sensor_ts_ns"][row]),
                ingest_ts_ns=came,
                log=log,
                seq=numbers[row],
                is_raw_kept=raw_since is not None and raw_since <= time_of(came),
            )


def _contributions(home: Home) -> Contributions | None:
    """As fusion has them; nothing when the home has no catalog any more."""
    from meridian.operation.assembling import FromHome

    try:
        return FromHome.of(home)().contributions
    except (HoldfastError, OSError):
        return None


def _logs(edge: Path) -> Iterator[InboxReader]:
    for path in sorted(edge.glob("obs.*")):
        try:
            yield InboxReader.open(path)
        except LogMissing:
            continue


def _raw_since(home: Home, log: str) -> datetime | None:
    """From when on the bytes of the wire are kept; nothing when none are."""
    try:
        with InboxReader.open(home.edge / log.replace("obs.", "raw.", 1)) as raw:
            return _came(raw, raw.first()) if raw.first() <= raw.end() else None
    except LogMissing:
        return None


def _bisected(log: InboxReader, low: int, high: int, time: datetime) -> int:
    """The first event from `low` on that came in at this time or later; the one behind `high` when none did."""
    while low <= high:
        middle = (low + high) // 2
        if _came(log, middle) < time:
            low = middle + 1
        else:
            high = middle - 1
    return low


def _came(log: InboxReader, seq: int) -> datetime:
    (event,) = log.read(seq - 1, seq)
    came: datetime = event["capture_time"][0].as_py()
    return came


def _cause(word: WordSaid) -> str:
    """Which of them had it said."""
    if word.caused_ns is None:
        return "it was said when the window was closed"
    return f"it was said for what was seen at {format_ccsds(word.caused_ns)[:23]}"


def _cells(each: Traced) -> list[str]:
    raw = "raw kept" if each.is_raw_kept else "raw gone"
    when = format_ccsds(each.sensor_ts_ns)[:23]
    return [each.observation_id, each.source_id, when, f"{each.log} {each.seq}", raw]
