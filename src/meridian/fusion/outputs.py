"""What leaves fusion: six kinds of rows, each for a table of its own, and how each treats what comes late.

Every row has a `version` that rises with what it tells of, so a table that keeps the highest one for each key holds
what is true, however often and in which order rows reach it. Rows of all kinds leave in one stream; `route` says which
kind a row is, and a sink takes the columns of its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pyarrow as pa

from meridian.fusion.life import Stage

ROUTE = "route"
WORDS = "words"
"""The table with every word on every alert, in the order in which they were said."""


def place(directory: Path, table: str) -> Path:
    """The file of a table; each has one of its own, so that sinks do not wait for each other's locks."""
    return directory / f"{table}.db"


class Late(Enum):
    """What an output does about an observation that comes when its window was closed, and is still kept."""

    DROP = "drop"
    """What was said stays."""
    ACCUMULATE = "accumulate"
    """The figure is told anew, with it."""
    RETRACT = "retract"
    """What was said is taken back, and said anew."""


@dataclass(frozen=True)
class Output:
    """One kind of rows.

    :param key: of which a table holds one row.
    :param newer_by: the column that says which of two rows with one key is the newer one.
    """

    route: str
    table: str
    key: str
    newer_by: str
    late: Late
    schema: pa.Schema

    @property
    def columns(self) -> Sequence[str]:
        """Their names."""
        return list(self.schema.names)


def _schema(**kinds: str) -> pa.Schema:
    return pa.schema([(name, _KINDS[kind]) for kind, names in kinds.items() for name in names.split()])


_KINDS = {
    "text": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "reals": pa.list_(pa.float64()),
}
_RISK = pa.schema(
    [
        *_schema(whole="encounter_ns closest_ns"),
        *_schema(real="miss_m speed_m_s probability radius_m plane_x_m plane_y_m"),
        *_schema(real="spread_xx_m2 spread_yy_m2 spread_xy_m2"),
    ]
)

ALERTS = Output(
    "alert",
    "alerts",
    key="alert_id",
    newer_by="version",
    late=Late.RETRACT,
    schema=pa.schema(
        [
            *_schema(text="alert_id", whole="version"),
            *_schema(text="kind", whole="sequence"),
            *_schema(text="object_a object_b", whole="window_end_ns", flag="is_early"),
            *_schema(whole="watermark_ns"),
            *_RISK,
            *_schema(whole="observed_a observed_b digest_a digest_b newest_ns"),
            *_schema(whole="batch caused_ns received_ns"),
        ]
    ),
)
"""Words on pairs in windows."""

CONJUNCTIONS = Output(
    "conjunction",
    "conjunctions",
    key="conjunction_id",
    newer_by="version",
    late=Late.RETRACT,
    schema=pa.schema(
        [
            *_schema(text="conjunction_id", whole="version"),
            *_schema(text="stage object_a object_b"),
            *_RISK,
            *_schema(whole="windows watermark_ns"),
        ]
    ),
)
"""Passages of pairs, each with its life."""
IS_OVER = "stage IN ({})".format(", ".join(f"'{stage.value}'" for stage in Stage if stage.is_over))
"""What holds of the rows of conjunctions on which nobody has to act any more, in SQL."""

OBJECTS = Output(
    "object",
    "objects",
    key="object_id",
    newer_by="version",
    late=Late.ACCUMULATE,
    schema=pa.schema(
        [
            *_schema(text="object_id", whole="version"),
            *_schema(text="status sources", whole="observations epoch_ns last_seen_ns"),
            *_schema(real="x_m y_m z_m vx_m_s vy_m_s vz_m_s", reals="covariance"),
        ]
    ),
)
"""The catalog: where each object is by all that was observed of it."""

SUMMARIES = Output(
    "summary",
    "summaries",
    key="window_end_ns",
    newer_by="version",
    late=Late.ACCUMULATE,
    schema=_schema(whole="window_end_ns version on_time observations objects"),
)
"""What slices of time were made of; `on_time` alone drops what is late."""

CONTACTS = Output(
    "contact",
    "contacts",
    key="contact_id",
    newer_by="last_ns",
    late=Late.ACCUMULATE,
    schema=_schema(text="contact_id object_id sources ended", whole="first_ns last_ns observations"),
)
"""From when to when objects were seen in one go; told once, when no late observation can change them any more."""

PROGRESS = Output(
    "progress",
    "progress",
    key="slot",
    newer_by="batch",
    late=Late.DROP,
    schema=pa.schema(
        [
            *_schema(whole="slot batch received_ns watermark_ns active retained taken late dropped"),
            *_schema(whole="closed told retracted tracks state_bytes", text="sources"),
        ]
    ),
)
"""How batches went; the table is a ring of the newest."""

OUTPUTS = (ALERTS, CONJUNCTIONS, OBJECTS, SUMMARIES, CONTACTS, PROGRESS)


def _all_columns() -> Iterator[pa.Field]:
    yield pa.field(ROUTE, pa.string())
    kinds: dict[str, pa.DataType] = {}
    for output in OUTPUTS:
        for column in output.schema:
            if column.name not in kinds:
                kinds[column.name] = column.type
                yield column
            elif kinds[column.name] != column.type:
                raise TypeError(f"{output.route}: {column.name} is {kinds[column.name]} elsewhere")


ROWS = pa.schema(list(_all_columns()))
"""The rows of all outputs."""


def widened(output: Output, rows: pa.Table) -> list[pa.RecordBatch]:
    """Rows of one output with the columns of all; those of the others are empty."""
    count = rows.num_rows
    columns = [
        rows[column.name] if column.name in output.schema.names else pa.nulls(count, column.type) for column in ROWS
    ]
    columns[0] = pa.array([output.route] * count, pa.string())
    batches: list[pa.RecordBatch] = pa.Table.from_arrays(columns, schema=ROWS).combine_chunks().to_batches()
    return batches
