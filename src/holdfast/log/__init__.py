"""The durable logs: inbox, outbox and dead letters. Bytes in files, and one row of an index that makes them visible."""

from __future__ import annotations

from holdfast.log.dead import DeadLetterLog
from holdfast.log.dead_entry import DeadLetterEntry, entry_id
from holdfast.log.dead_limits import DeadLetterLimits, Overflow
from holdfast.log.dead_reader import DeadLetterReader
from holdfast.log.dead_values import DeadLetterFilter, DeadLetterStatus, EntryState, Fate, Gone, Listed, Where
from holdfast.log.inbox import Inbox
from holdfast.log.outbox import Outbox
from holdfast.log.parts import part_name, read_part, write_part
from holdfast.log.reader import InboxReader
from holdfast.log.segment import clip, read_chunk
from holdfast.log.values import Appended, Chunk, Digest, Keep, Limits, NewBatch, PartRef, Published, Retained, Trimmed

__all__ = [
    "Appended",
    "Chunk",
    "DeadLetterEntry",
    "DeadLetterFilter",
    "DeadLetterLimits",
    "DeadLetterLog",
    "DeadLetterReader",
    "DeadLetterStatus",
    "Digest",
    "EntryState",
    "Fate",
    "Gone",
    "Inbox",
    "InboxReader",
    "Keep",
    "Limits",
    "Listed",
    "NewBatch",
    "Outbox",
    "Overflow",
    "PartRef",
    "Published",
    "Retained",
    "Trimmed",
    "Where",
    "clip",
    "entry_id",
    "part_name",
    "read_chunk",
    "read_part",
    "write_part",
]
