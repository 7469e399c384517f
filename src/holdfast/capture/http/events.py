"""Makes events of what was pushed: the payloads of one request are one transaction. Pure.

The inbox fills in what follows from an event's number: `event_id`, `position` and `tx_id`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.model.envelope import CAPTURED, Op

if TYPE_CHECKING:
    from datetime import datetime

Headers = tuple[tuple[str, bytes], ...]
"""Names and values, as every event of a request carries them."""

_ALIKE = 256
"""Requests of up to so many events are alike often enough to keep what they share."""
_PLACES = {field.name: place for place, field in enumerate(CAPTURED)}
_TIME = CAPTURED.field("capture_time").type


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a body held."""

    payloads: Sequence[bytes]
    times: Sequence[int | None] | None = None
    """When each happened, in microseconds since 1970, where that is known."""


def events_of(pushed: Pushed, *, source: str, headers: Headers, captured: datetime) -> pa.RecordBatch:
    """The events of one request."""
    count = len(pushed.payloads)
    columns = list((_shared if count <= _ALIKE else _shared.__wrapped__)(count, source, headers))
    columns[_PLACES["capture_time"]] = pa.repeat(pa.scalar(captured, _TIME), count)
    columns[_PLACES["payload"]] = pa.array(pushed.payloads, pa.binary())
    if pushed.times is not None:
        columns[_PLACES["event_time"]] = pa.array(pushed.times, _TIME)
    return pa.RecordBatch.from_arrays(columns, schema=CAPTURED)


@lru_cache(maxsize=64)
def _shared(count: int, source: str, headers: Headers) -> tuple[pa.Array, ...]:
    """The columns that do not depend on what was pushed: most requests are alike, and making them costs most."""
    ends = [False] * (count - 1) + [True]
    given = {"event_id": "", "source": source, "op": Op.MESSAGE.value, "position": "", "headers": headers}
    return tuple(
        pa.array(ends) if field.name == "tx_end" else pa.repeat(pa.scalar(given.get(field.name), field.type), count)
        for field in CAPTURED
    )
