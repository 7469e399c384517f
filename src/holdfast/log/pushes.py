"""Pushes: events that have no place in their source but the one the inbox gives them. Pure.

Many of them become one append; each is answered for itself.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.log.cutting import check_shape, check_values
from holdfast.log.values import Appended
from holdfast.model.envelope import CAPTURED, event_ids
from holdfast.model.errors import InvalidAppend

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from holdfast.log.keys import Key

_EVENT_ID, _TX_ID, _POSITION = map(CAPTURED.get_field_index, ("event_id", "tx_id", "position"))

_SMALL = 2**16
"""To measure events exactly costs more than all else, and is worth it from this size on."""


@dataclass(frozen=True, slots=True, eq=False)
class Push:
    """Events that are to become durable, and who waits for it."""

    events: pa.RecordBatch
    keys: Sequence[Key] | None
    nbytes: int
    future: Future[Appended] = field(default_factory=Future)

    @classmethod
    def of(cls, events: pa.RecordBatch, keys: Sequence[Key] | None) -> Push:
        """A push of events. What they contain is looked at when many have become one append: that is much cheaper."""
        check_shape(events, keys)
        if not events.num_rows:
            raise InvalidAppend("A push has no events.", remedy="Push something, or nothing at all.")
        held = events.get_total_buffer_size()
        return cls(events, keys, held if held < _SMALL else events.nbytes)


def joined(pushes: Sequence[Push]) -> tuple[pa.RecordBatch, list[Key] | None]:
    """All events of the pushes, and their keys if any has some. `InvalidAppend` when one is not whole."""
    events = pa.concat_batches([push.events for push in pushes])
    check_values(events)
    ends = events["tx_end"].to_numpy(zero_copy_only=False)
    if not ends[_stops(pushes) - 1].all():
        raise InvalidAppend(
            "The last event of a push does not end a transaction.",
            remedy="Push whole transactions, or events that each are one.",
        )
    if all(push.keys is None for push in pushes):
        return events, None
    return events, [key for push in pushes for key in push.keys or repeat(None, push.events.num_rows)]


def placed(events: pa.RecordBatch, first_seq: int, source: str) -> pa.RecordBatch:
    """The events with the place and the identity that follow from their numbers."""
    positions = pa.array(np.arange(first_seq, first_seq + events.num_rows)).cast(pa.string())
    columns = list(events.columns)
    columns[_POSITION] = positions
    columns[_EVENT_ID] = event_ids(source, positions)
    columns[_TX_ID] = pc.fill_null(columns[_TX_ID], _last_of_transaction(events, positions))
    return pa.RecordBatch.from_arrays(columns, schema=CAPTURED)


def answers(pushes: Sequence[Push], left_out: npt.NDArray[np.bool_], first_seq: int) -> list[Appended]:
    """What became of each push, when the first event that was not left out has this number."""
    fresh = np.cumsum(~left_out)[_stops(pushes) - 1]
    starts = np.concatenate(([0], fresh[:-1])) + first_seq
    return [
        Appended(start, stop, left_out=push.events.num_rows - (stop - start + 1))
        for push, start, stop in zip(pushes, starts.tolist(), (fresh + first_seq - 1).tolist(), strict=True)
    ]


def _last_of_transaction(events: pa.RecordBatch, positions: pa.StringArray) -> pa.StringArray:
    """For each event, the place of the one that ends its transaction."""
    ends = np.flatnonzero(events["tx_end"].to_numpy(zero_copy_only=False))
    return positions.take(pa.array(ends[np.searchsorted(ends, np.arange(events.num_rows))]))


def _stops(pushes: Sequence[Push]) -> npt.NDArray[np.int64]:
    """For each push, how many events it and those before it have."""
    return np.cumsum([push.events.num_rows for push in pushes])
