"""Batches of rows that were dead letters and go to their sink once more. Only that sink's lane is to see them.

A batch is read by every lane, so it says itself whom it is for: the name of the lane travels in the schema of its rows.
Spark knows nothing of such a batch; its id is none that Spark could use. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.log.values import Digest, NewBatch

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.log.values import PartRef

_LANE = b"holdfast.lane"


def addressed(rows: pa.Table, lane: str) -> pa.Table:
    """The rows, for one lane only."""
    return rows.replace_schema_metadata({**(rows.schema.metadata or {}), _LANE: lane.encode()})


def addressee(rows: pa.Table) -> str | None:
    """The lane that the rows are for; None when they are for all."""
    lane = (rows.schema.metadata or {}).get(_LANE)
    return None if lane is None else lane.decode()


def unaddressed(rows: pa.Table) -> pa.Table:
    """The rows as they were before they were addressed."""
    return rows.replace_schema_metadata(
        {key: value for key, value in (rows.schema.metadata or {}).items() if key != _LANE} or None
    )


def batch_id(oseq: int) -> int:
    """What stands in the place of Spark's batch id, which is never negative."""
    return -oseq


def redelivery(part: PartRef, lane: str, oseq: int) -> NewBatch:
    """A batch with one part, in which no source moves."""
    return NewBatch(
        batch_id=batch_id(oseq),
        query_id="redelivery",
        fingerprint=lane,
        starts={},
        ends={},
        positions={},
        parts=(part,),
        digest=Digest(part.rows, 0),
    )
