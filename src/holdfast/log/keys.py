"""Idempotency keys: an event whose key an inbox has consumed before is left out, also after a crash.

An event without a key goes with the one that ends its transaction: so a key at the end stands for a whole transaction.
Keys outlive their events: a trim does not forget them, so a late repetition is still recognised.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from holdfast.model.errors import InvalidAppend

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt


Key = str | None
"""The key of an event; None for an event that is never taken for another."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """What is left of an append."""

    events: pa.RecordBatch
    keys: Sequence[Key]
    """Of these events; empty when none has a key."""
    left_out: npt.NDArray[np.bool_]
    """Which of all events were repetitions."""


def leave_out_repeated(db: sqlite3.Connection, events: pa.RecordBatch, keys: Sequence[Key] | None) -> Fresh:
    """The events whose key is new to the log and stands among them for the first time."""
    mask = np.zeros(events.num_rows, dtype=bool)
    if not keys:
        return Fresh(events, (), mask)
    seen: set[Key] = _consumed(db, keys)
    for place, key in enumerate(keys):
        mask[place] = key in seen
        if key is not None:
            seen.add(key)
    if not mask.any():
        return Fresh(events, keys, mask)
    mask |= _led_by_their_end(events, keys, mask)
    return Fresh(_without(events, mask), list(compress(keys, ~mask)), mask)


def consume(db: sqlite3.Connection, first_seq: int, keys: Iterable[Key]) -> None:
    """Remember the keys of events that are numbered from `first_seq` on."""
    rows = [(seq, key) for seq, key in enumerate(keys, start=first_seq) if key is not None]
    db.executemany("INSERT INTO keys (seq, key) VALUES (?, ?)", rows)


def forget(db: sqlite3.Connection, through: int) -> int:
    """Forget the keys of events up to this one; how many there were."""
    return db.execute("DELETE FROM keys WHERE seq <= ?", (through,)).rowcount


def keep_newest(db: sqlite3.Connection, count: int) -> int:
    """Forget all keys but the newest ones; how many were forgotten."""
    newest = "SELECT seq FROM keys ORDER BY seq DESC LIMIT 1 OFFSET ?"
    return db.execute(f"DELETE FROM keys WHERE seq <= ({newest})", (count,)).rowcount


def _consumed(db: sqlite3.Connection, keys: Iterable[Key]) -> set[Key]:
    statement = "SELECT k.key FROM json_each(?) j CROSS JOIN keys k ON k.key = j.value"
    return {key for (key,) in db.execute(statement, (json.dumps(list(keys)),))}


def _led_by_their_end(
    events: pa.RecordBatch, keys: Sequence[Key], left_out: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The events without a key whose transaction ends with one that is left out."""
    is_led = np.fromiter((key is None for key in keys), dtype=bool, count=len(keys))
    if not is_led.any():
        return is_led
    ends = events["tx_end"].to_numpy(zero_copy_only=False)
    end_is_left_out = np.append(left_out[ends], False)  # the last transaction may have no end yet
    led: npt.NDArray[np.bool_] = is_led & end_is_left_out[_transactions(ends)]
    return led


def _transactions(ends: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """For each event, the number of its transaction."""
    return np.concatenate(([0], np.cumsum(ends)[:-1]))


def _without(events: pa.RecordBatch, left_out: npt.NDArray[np.bool_]) -> pa.RecordBatch:
    """The events but for those left out: a transaction may lose all its events, or some of them but not its end."""
    ends = events["tx_end"].to_numpy(zero_copy_only=False)
    transaction = _transactions(ends)
    has_fresh = np.zeros(int(transaction[-1]) + 1, dtype=bool)
    has_fresh[transaction[~left_out]] = True
    if np.any(left_out & ends & has_fresh[transaction]):
        raise InvalidAppend(
            "The event that ends a transaction repeats a key that was consumed before, while others of it are new.",
            remedy="Give the events of one transaction keys that are consumed together.",
        )
    return events.filter(pa.array(~left_out))
