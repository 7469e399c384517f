"""What a dead letter is: one row that was given up at one stage, with the reason, as a value and as a stored row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

SCHEMA_VERSION = 1

SCHEMA = pa.schema(
    [
        pa.field("entry_id", pa.string(), nullable=False),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("pipeline", pa.string(), nullable=False),
        pa.field("stage", pa.string(), nullable=False),
        pa.field("oseq", pa.int64(), nullable=False),
        pa.field("ordinal", pa.int64(), nullable=False),
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
"""An entry as it is stored."""


def entry_id(stage: str, oseq: int, ordinal: int) -> str:
    """The id of the decision about one row at one stage: equal however often it is made."""
    return hashlib.sha256(f"{stage}\n{oseq}\n{ordinal}".encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterEntry:
    """A row that was given up, and why."""

    entry_id: str
    schema_version: int = SCHEMA_VERSION
    time: datetime
    pipeline: str
    stage: str
    """Where it failed, for instance `sink:archive`."""
    oseq: int
    ordinal: int
    """Its place in the batch."""
    error_kind: str
    error_code: str
    message: str
    """Of the error and its causes."""
    attempts: int
    position: str | None
    """Of the event, in its text form, where the row has one."""
    event_schema_version: int | None
    payload: bytes
    """The row, as Arrow IPC or JSON."""
    checksum: int
    """CRC32C of the payload."""

    @classmethod
    def of(
        cls,
        *,
        time: datetime,
        pipeline: str,
        stage: str,
        oseq: int,
        ordinal: int,
        error_kind: str,
        error_code: str,
        message: str,
        attempts: int,
        payload: bytes,
        position: str | None = None,
        event_schema_version: int | None = None,
    ) -> DeadLetterEntry:
        """An entry with the id and the checksum that belong to it."""
        return cls(
            entry_id=entry_id(stage, oseq, ordinal),
            time=time,
            pipeline=pipeline,
            stage=stage,
            oseq=oseq,
            ordinal=ordinal,
            error_kind=error_kind,
            error_code=error_code,
            message=message,
            attempts=attempts,
            position=position,
            event_schema_version=event_schema_version,
            payload=payload,
            checksum=google_crc32c.value(payload),
        )


def to_batch(entries: Sequence[DeadLetterEntry]) -> pa.RecordBatch:
    """Entries as they are stored."""
    columns = [pa.array([getattr(entry, field.name) for entry in entries], field.type) for field in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> list[DeadLetterEntry]:
    """Reads what `to_batch` wrote."""
    return [DeadLetterEntry(**row) for row in batch.to_pylist()]
