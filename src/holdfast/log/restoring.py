"""Events that come back to their inbox after they were dead letters. They keep their identity and their order.

Such an event is appended behind all others and so gets a new number in the log. But its `seq` says where it stands
among the events of its source, and sinks that keep the newest row of a key go by it. So the number that it had comes
along in its headers, and whoever reads the event is given that one. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from holdfast.model.envelope import CAPTURED, ENVELOPE
from holdfast.model.errors import InvalidAppend

_SEQ = "holdfast.seq"
_ENTRY = "holdfast.entry"
"""The headers of such an event: the number that it had, and the entry of the dead letters that it was."""
_MARK = {b"holdfast.restored": b"1"}

Header = Mapping[str, object]

RESTORED = ENVELOPE.with_metadata(_MARK)
"""The schema of a chunk of such events."""


def to_restore(events: Mapping[str, pa.Table], source: str) -> pa.RecordBatch:
    """Events of this source as they are appended again, each a transaction of its own; `InvalidAppend` if one is none.

    :param events: by the entry of the dead letters that each was.
    """
    for entry, event in events.items():
        if not event.schema.equals(ENVELOPE) or event.num_rows != 1:
            raise _invalid(entry, source)
    found = pa.concat_tables(events.values()).to_pylist()
    rows = [_to_restore(row, entry, source) for entry, row in zip(events, found, strict=True)]
    return pa.RecordBatch.from_pylist(rows, schema=CAPTURED)


def restored_from(headers: Sequence[Header] | None) -> str | None:
    """The entry out of which an event with these headers came back; None for an event that never was one."""
    return _value(headers, _ENTRY)


def is_restored(chunk: pa.RecordBatch) -> bool:
    """Whether a chunk holds such events."""
    return bool(chunk.schema.metadata) and _MARK.items() <= chunk.schema.metadata.items()


def as_captured(events: pa.RecordBatch) -> pa.RecordBatch:
    """Events of one chunk, or of a part of it, with the `seq` that each was captured under."""
    if not is_restored(events):
        return events
    seqs = [_value(headers, _SEQ) for headers in events["headers"].to_pylist()]
    column = pa.array([int(seq) for seq in seqs if seq is not None], pa.int64())
    return pa.RecordBatch.from_arrays([column, *events.columns[1:]], schema=ENVELOPE)


def _value(headers: Sequence[Header] | None, key: str) -> str | None:
    found = [header["value"] for header in headers or () if header["key"] == key]
    return found[-1].decode() if found and isinstance(found[-1], bytes) else None


def _to_restore(row: Mapping[str, Any], entry: str, source: str) -> Mapping[str, Any]:
    if row["source"] != source:
        raise _invalid(entry, source)
    headers = [header for header in row["headers"] or () if header["key"] not in (_SEQ, _ENTRY)]
    ours = [{"key": _SEQ, "value": str(row["seq"]).encode()}, {"key": _ENTRY, "value": entry.encode()}]
    return {**row, "tx_end": True, "headers": [*headers, *ours]}


def _invalid(entry: str, source: str) -> InvalidAppend:
    return InvalidAppend(
        f"The dead letter {entry} holds no event of source {source!r}.",
        remedy="Only an event as the inbox had it can come back to the inbox.",
        entry_id=entry,
    )
