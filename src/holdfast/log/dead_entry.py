"""What a dead letter is: one row that was given up at one stage, with the reason. A value, and the bytes of its row.

Two kinds of stages write them. A sink's lane gives up a row of a batch of the outbox; a step gives up an event of an
inbox. Either way the id is made of the decision alone, so a decision that is made again is the same entry.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import google_crc32c
import pyarrow as pa

from holdfast.log.restoring import restored_from

if TYPE_CHECKING:
    from datetime import datetime

SCHEMA_VERSION = 1

SINK = "sink:"
STEP = "step:"
"""How the names of the two kinds of stages begin."""


def entry_id(stage: str, oseq: int, ordinal: int) -> str:
    """The id of the decision about one row at one stage: equal however often it is made."""
    return _digest(f"{stage}\n{oseq}\n{ordinal}")


def event_entry_id(stage: str, event_id: str, restored_from: str | None) -> str:
    """The id of the decision about one event at one step.

    :param restored_from: the entry out of which the event came back, if it did: should it fail again, that is another
        decision.
    """
    return _digest(f"{stage}\n{event_id}\n{restored_from or ''}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterEntry:
    """A row that was given up, and why."""

    entry_id: str
    schema_version: int = SCHEMA_VERSION
    time: datetime
    pipeline: str
    stage: str
    """Where it failed: `sink:archive`, or `step:enrich`."""
    oseq: int
    """The batch of the outbox that a sink was brought; 0 for an event that never came so far."""
    ordinal: int
    """The row's place in that batch, or the event's `seq`."""
    event_id: str | None
    """Of the event, where the row has one."""
    error_kind: str
    error_code: str
    message: str
    """Of the error and its causes."""
    attempts: int
    position: str | None
    """Of the event, in its text form, where the row has one."""
    event_schema_version: int | None
    payload: bytes
    """The row as an Arrow IPC stream, or what it was when it could not be read."""
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
        event_id: str | None = None,
        position: str | None = None,
        event_schema_version: int | None = None,
    ) -> DeadLetterEntry:
        """An entry of a sink's lane, with the id and the checksum that belong to it."""
        return cls(
            entry_id=entry_id(stage, oseq, ordinal),
            time=time,
            pipeline=pipeline,
            stage=stage,
            oseq=oseq,
            ordinal=ordinal,
            event_id=event_id,
            error_kind=error_kind,
            error_code=error_code,
            message=message,
            attempts=attempts,
            position=position,
            event_schema_version=event_schema_version,
            payload=payload,
            checksum=google_crc32c.value(payload),
        )

    @classmethod
    def of_event(
        cls,
        event: pa.Table,
        *,
        time: datetime,
        pipeline: str,
        step: str,
        error_kind: str,
        error_code: str,
        message: str,
        attempts: int = 1,
    ) -> DeadLetterEntry:
        """An entry of a step, with the id and the checksum that belong to it.

        :param event: one row of the schema `ENVELOPE`, as the step's pipeline read it from its inbox. It goes back
            there when the entry is reprocessed.
        """
        (row,) = event.to_pylist()
        stage, payload = f"{STEP}{step}", packed(event)
        return cls(
            entry_id=event_entry_id(stage, row["event_id"], restored_from(row["headers"])),
            time=time,
            pipeline=pipeline,
            stage=stage,
            oseq=0,
            ordinal=row["seq"],
            event_id=row["event_id"],
            error_kind=error_kind,
            error_code=error_code,
            message=message,
            attempts=attempts,
            position=row["position"],
            event_schema_version=row["schema_version"],
            payload=payload,
            checksum=google_crc32c.value(payload),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the payload is what it was when the entry was made."""
        return bool(google_crc32c.value(self.payload) == self.checksum)


def packed(row: pa.Table) -> bytes:
    """One row as an Arrow IPC stream: its types travel with it."""
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, row.schema) as writer:
        writer.write_table(row)
    return bytes(buffer.getvalue())


def unpacked(payload: bytes) -> pa.Table | None:
    """The row that `packed` packed; None when these bytes are something else."""
    try:
        with pa.ipc.open_stream(payload) as reader:
            return reader.read_all()
    except (pa.ArrowException, OSError, ValueError):
        return None


def _digest(decision: str) -> str:
    return hashlib.sha256(decision.encode()).hexdigest()[:32]
