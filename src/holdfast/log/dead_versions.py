"""How dead letters are stored, and how those of older versions are read.

Every entry says which version it is. An older one is brought up version by version when it is read; `migrate` writes
it down so. One of a newer version is refused, and stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from holdfast.log.dead_entry import SCHEMA_VERSION, DeadLetterEntry
from holdfast.model.errors import UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = Mapping[str, Any]

SCHEMA = pa.schema(
    [
        pa.field("entry_id", pa.string(), nullable=False),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("pipeline", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("oseq", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),
        pa.field("event_id", pa.string()),
        pa.field("error_kind", pa.string(), nullable=False),
        pa.field("error_code", pa.string(), nullable=False),
        pa.field("message", pa.string(), nullable=False),
        pa.field("attempts", pa.int32(), nullable=False),
        pa.field("position", pa.string()),
        pa.field("event_schema_version", pa.int32()),
        pa.field("payload", pa.binary(), nullable=False),
        pa.field("checksum", pa.int64(), nullable=False),
    ]
)
"""An entry of the present version as it is stored."""

UPGRADES: dict[int, Callable[[Row], Row]] = {}
"""For each older version, what makes a row of it one of the next version. There is no older version yet."""


def to_batch(entries: Sequence[DeadLetterEntry]) -> pa.RecordBatch:
    """Entries as they are stored."""
    columns = [pa.array([getattr(entry, field.name) for entry in entries], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def is_outdated(row: Row) -> bool:
    """Whether a stored entry is of an older version."""
    return bool(row["schema_version"] < SCHEMA_VERSION)


def entry_of(row: Row) -> DeadLetterEntry:
    """A stored entry of any version up to ours; `UnknownFormat` when it is newer."""
    while (version := row["schema_version"]) in UPGRADES:
        row = {**UPGRADES[version](row), "schema_version": version + 1}
    if version != SCHEMA_VERSION:
        raise UnknownFormat(
            f"The dead letter {row['entry_id']} is of version {version}, and this version of Holdfast reads up to "
            f"{SCHEMA_VERSION}.",
            kept="The entry stays as it is.",
            remedy="Read it with the version of Holdfast that wrote it, or a newer one.",
            entry_id=row["entry_id"],
        )
    return DeadLetterEntry(**row)
