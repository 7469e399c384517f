"""Rows that say which batch they came with, so that a table can be taken back to an earlier one.

A table says that it wants them so by a column of the name below that is NOT NULL and has no default: then every row has
a tag. It names lane and outbox too, so lanes that share a table take back their own rows only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.sinks.sql.statements import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.deliver.contract import LaneIdentity, SinkBatch
    from holdfast.sinks.sql.session import Database
    from holdfast.sinks.sql.statements import TableName

TAG = "_holdfast_batch"
_OUTBOX_DIGITS = 8


def wants_tags(columns: Mapping[str, bool]) -> bool:
    """Whether every row of a table with these columns has a tag."""
    return columns.get(TAG, False)


def tagged(batch: SinkBatch, lane: LaneIdentity) -> pa.Table:
    """The rows of a batch with their tag."""
    tag = f"{_prefix(lane)}{batch.oseq}"
    return batch.rows.append_column(TAG, pa.array([tag] * batch.rows.num_rows, pa.string()))


def remove_behind(db: Database, table: TableName, lane: LaneIdentity, oseq: int) -> None:
    """Remove the lane's rows of later batches; cut and compared as numbers, for no collation is to be trusted."""
    column, prefix = quoted(TAG), _prefix(lane)
    of_lane = f"substr({column}, 1, {len(prefix)}) = ?1"
    number = f"CAST(substr({column}, {len(prefix) + 1}) AS BIGINT)"
    db.execute(f"DELETE FROM {table} WHERE CASE WHEN {of_lane} THEN {number} > ?2 ELSE FALSE END", (prefix, oseq))


def _prefix(lane: LaneIdentity) -> str:
    return f"{lane.lane}/{lane.outbox.replace('-', '')[:_OUTBOX_DIGITS]}/"
