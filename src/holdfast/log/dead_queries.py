"""What can be asked of the tables of the dead letters. Filters are applied before anything is counted or cut off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from holdfast.log.dead_entry import SINK
from holdfast.log.dead_index import MINUTE, Chunk
from holdfast.log.dead_values import DONE, EntryState, Fate, Gone, Group, Listed, Reviewed, Where
from holdfast.log.segment import Place
from holdfast.log.times import from_milliseconds, milliseconds

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from holdfast.log.dead_values import DeadLetterFilter

_LISTED = "number, entry_id, time, stage, oseq, ordinal, event_id, kind, code, state"
_GONE = "entry_id, at, stage, oseq, ordinal, event_id, kind, fate"


def known(db: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Those of the ids about which was decided before."""
    statement = (
        "SELECT j.value FROM json_each(?) j WHERE EXISTS (SELECT 1 FROM entries e WHERE e.entry_id = j.value) "
        "OR EXISTS (SELECT 1 FROM gone g WHERE g.entry_id = j.value)"
    )
    return {entry_id for (entry_id,) in db.execute(statement, (json.dumps(list(ids)),))}


def rejected(db: sqlite3.Connection, stage: str, oseq: int) -> frozenset[int]:
    """The places of the rows of a batch that were given up at a stage, whether or not there is an entry."""
    statement = (
        "SELECT ordinal FROM entries WHERE stage = ?1 AND oseq = ?2 "
        "UNION ALL SELECT ordinal FROM gone WHERE stage = ?1 AND oseq = ?2"
    )
    return frozenset(ordinal for (ordinal,) in db.execute(statement, (stage, oseq)))


def refused(db: sqlite3.Connection, stage: str, oseq: int) -> frozenset[int]:
    """The places of those rows that were dropped on purpose."""
    statement = "SELECT ordinal FROM gone WHERE stage = ? AND oseq = ? AND fate = ?"
    return frozenset(ordinal for (ordinal,) in db.execute(statement, (stage, oseq, Fate.REFUSED.value)))


def kept(db: sqlite3.Connection) -> dict[EntryState, int]:
    """How many entries there are, by state."""
    found = dict(db.execute("SELECT state, count(*) FROM entries GROUP BY state").fetchall())
    return {state: found.get(state.value, 0) for state in EntryState}


def done(db: sqlite3.Connection, limit: int) -> list[int]:
    """The oldest entries that nobody needs any more."""
    states = json.dumps([state.value for state in DONE])
    statement = "SELECT number FROM entries WHERE state IN (SELECT value FROM json_each(?)) ORDER BY number LIMIT ?"
    return [number for (number,) in db.execute(statement, (states, limit))]


def last_number(db: sqlite3.Connection) -> int:
    """The highest number that was ever given."""
    (number,) = db.execute("SELECT last_number FROM state").fetchone()
    return int(number)


def select(db: sqlite3.Connection, chosen: DeadLetterFilter, *, after: int = 0, limit: int = -1) -> list[Listed]:
    """The entries that are meant, behind number `after`, in order."""
    condition, values = _condition(chosen)
    statement = f"SELECT {_LISTED} FROM entries WHERE {condition} AND number > ? ORDER BY number LIMIT ?"
    return [_listed(row) for row in db.execute(statement, (*values, after, limit))]


def counts(db: sqlite3.Connection, chosen: DeadLetterFilter) -> dict[Where, int]:
    """How many entries are meant, by stage and kind."""
    condition, values = _condition(chosen)
    statement = f"SELECT stage, kind, count(*) FROM entries WHERE {condition} GROUP BY stage, kind"
    return {Where(stage, kind): count for stage, kind, count in db.execute(statement, values)}


def groups(db: sqlite3.Connection, chosen: DeadLetterFilter, *, after: int) -> list[Group]:
    """The entries that are meant, behind number `after`, by stage and kind; the most numerous first."""
    condition, values = _condition(chosen)
    inner = f"SELECT min(number) AS first, count(*) AS count FROM entries WHERE {condition} AND number > ?"
    statement = (
        f"SELECT g.count, {_LISTED} FROM ({inner} GROUP BY stage, kind) g JOIN entries e ON e.number = g.first "
        "ORDER BY g.count DESC, stage, kind"
    )
    return [Group(count, _listed(tuple(row))) for count, *row in db.execute(statement, (*values, after))]


def places(db: sqlite3.Connection, numbers: Iterable[int]) -> dict[Chunk, list[int]]:
    """Where those of the entries lie that are there."""
    statement = (
        "SELECT e.number, c.* FROM json_each(?) j CROSS JOIN entries e ON e.number = j.value "
        "CROSS JOIN chunks c ON c.first = e.chunk"
    )
    found: dict[Chunk, list[int]] = {}
    for number, first, last, *place in db.execute(statement, (json.dumps(list(numbers)),)):
        found.setdefault(Chunk(first, last, Place(*place)), []).append(number)
    return found


def chunks_after(db: sqlite3.Connection, after: int, limit: int) -> list[Chunk]:
    """Some of the chunks there are, from the first behind number `after` on."""
    found = db.execute("SELECT * FROM chunks WHERE first > ? ORDER BY first LIMIT ?", (after, limit)).fetchall()
    return [Chunk(first, last, Place(*place)) for first, last, *place in found]


def gone(db: sqlite3.Connection, *, after: int = 0, limit: int = -1) -> list[Gone]:
    """Entries that are gone, behind number `after`, the newest first."""
    statement = f"SELECT {_GONE} FROM gone WHERE number > ? ORDER BY at DESC, number DESC LIMIT ?"
    return [
        Gone(entry_id, from_milliseconds(at), stage, oseq, ordinal, event_id, kind, Fate(fate))
        for entry_id, at, stage, oseq, ordinal, event_id, kind, fate in db.execute(statement, (after, limit))
    ]


def tallies(db: sqlite3.Connection, since: datetime | None) -> dict[tuple[Where, Fate], int]:
    """What became of rows in the minute of that time and later, or ever."""
    minute = 0 if since is None else milliseconds(since) // MINUTE
    statement = "SELECT stage, kind, fate, sum(count) FROM tallies WHERE minute >= ? GROUP BY stage, kind, fate"
    return {(Where(stage, kind), Fate(fate)): count for stage, kind, fate, count in db.execute(statement, (minute,))}


def reviewed(db: sqlite3.Connection) -> Reviewed:
    """How far somebody has looked."""
    number, at = db.execute("SELECT reviewed, reviewed_at FROM state").fetchone()
    return Reviewed(number, None if at is None else from_milliseconds(at))


def _condition(chosen: DeadLetterFilter) -> tuple[str, list[object]]:
    sets = {
        "kind": chosen.kinds,
        "stage": chosen.stages | {f"{SINK}{sink}" for sink in chosen.sinks},
        "entry_id": chosen.ids,
        "state": {state.value for state in chosen.states},
    }
    terms, values = ["1"], list[object]()
    for column, wanted in sets.items():
        if wanted:
            terms.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(sorted(wanted)))
    for term, time in (("time >= ?", chosen.since), ("time < ?", chosen.until)):
        if time is not None:
            terms.append(term)
            values.append(milliseconds(time))
    return " AND ".join(terms), values


def _listed(row: tuple[Any, ...]) -> Listed:
    number, entry_id, time, stage, oseq, ordinal, event_id, kind, code, state = row
    when = from_milliseconds(time)
    return Listed(number, entry_id, when, stage, oseq, ordinal, event_id, kind, code, EntryState(state))
