"""A few of the rows that pass a point, read from the logs beside those who work on them: nobody is held up.

Rows that pass faster than they are looked at are not shown: a tap is a glimpse, not a copy.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from holdfast.control.values import plain
from holdfast.log import InboxReader
from holdfast.model.errors import InvalidRequest, LogError

if TYPE_CHECKING:
    from holdfast.control.values import Answer
    from holdfast.deliver.taps import Taps
    from holdfast.runtime.engine import Engine

_MOST_ROWS = 1000
_MOST_WAIT = 10.0
_MOST_TEXT = 1000
_POLL = 0.01


def tapped(engine: Engine, point: str, *, rows: int, wait: float) -> Answer:
    """Rows that pass within so many seconds: `inbox:NAME` as captured, `outbox` as processed, `sink:NAME` as sent."""
    until = time.monotonic() + min(max(wait, 0.0), _MOST_WAIT)
    most = min(max(rows, 1), _MOST_ROWS)
    kind, _, name = point.partition(":")
    if kind == "outbox" and not name:
        return {"point": point, "rows": _of_outbox(engine, most, until)}
    if kind == "inbox" and name in engine.ground.inboxes:
        return {"point": point, "rows": _of_inbox(engine, name, most, until)}
    taps = engine.delivery.taps()
    if kind == "sink" and name in taps:
        return {"point": point, **_of_sink(taps[name], most, until)}
    points = [*(f"inbox:{name}" for name in engine.ground.inboxes), "outbox", *(f"sink:{name}" for name in taps)]
    raise InvalidRequest(f"There is no point {point!r} to look at.", remedy=f"Name one of {', '.join(points)}.")


def _of_inbox(engine: Engine, name: str, rows: int, until: float) -> list[object]:
    inbox = engine.ground.inboxes[name]
    start = inbox.end()
    while inbox.end() == start and time.monotonic() < until:
        time.sleep(_POLL)
    end = inbox.end()
    with InboxReader.open(engine.ground.layout.inbox(name)) as reader:
        found: list[object] = []
        for batch in reader.read(max(start, end - rows), end):
            found += batch.to_pylist()
    return [_shown(row) for row in found[:rows]]


def _of_outbox(engine: Engine, rows: int, until: float) -> list[object]:
    outbox = engine.ground.outbox
    seen = outbox.last_oseq()
    while True:
        for batch in outbox.batches(seen):
            seen = batch.oseq
            try:
                table = outbox.read(batch.oseq)
            except LogError:
                continue  # it has gone to all sinks already
            if table.num_rows:
                return [_shown(row) for row in table.slice(0, rows).to_pylist()]
        if time.monotonic() >= until:
            return []
        time.sleep(_POLL)


def _of_sink(taps: Taps, rows: int, until: float) -> Answer:
    """Of the rows that the sink takes next, as many as there is room for; the others are only counted."""
    with taps.opened(rows) as tap:
        tables = tap.wait(max(0.0, until - time.monotonic()))
        return {"rows": [_shown(row) for table in tables for row in table.to_pylist()], "missed": tap.missed}


def _shown(row: object) -> object:
    value = plain(row)
    if isinstance(value, dict):
        return {key: _clipped(item) for key, item in value.items()}
    return value


def _clipped(item: object) -> object:
    return f"{item[:_MOST_TEXT]}…" if isinstance(item, str) and len(item) > _MOST_TEXT else item
