"""Writes dead letters as JSON lines, for people and for tools that know no Arrow. Nothing is left out silently."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from datetime import time as time_of_day
from enum import Enum
from typing import IO, TYPE_CHECKING

from holdfast.log import DeadLetterEntry
from holdfast.log.dead_entry import unpacked
from holdfast.model.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.log.dead import Reading


class PayloadForm(Enum):
    """How the payload of an entry is written."""

    TEXT = "text"
    """So that it can be read: a row as JSON, other bytes as the text that they are, and as base64 if they are none."""
    BASE64 = "base64"
    """The very bytes."""


@dataclass(frozen=True, slots=True)
class Exported:
    """How an export went."""

    written: int
    unreadable: Sequence[tuple[str, str]] = ()
    """The ids of the entries that could not be read, and why. Each has a line in the export that says so."""


def write_entries(read: Sequence[Reading], out: IO[str], form: PayloadForm) -> Exported:
    """Write a line for each entry; one that cannot be read becomes a line with its id and the error."""
    unreadable = []
    for listed, entry in read:
        about: dict[str, object] = {"number": listed.number, "state": listed.state.value}
        if isinstance(entry, HoldfastError):
            unreadable.append((listed.entry_id, str(entry)))
            about |= {"entry_id": listed.entry_id, "stage": listed.stage, "unreadable": str(entry)}
        else:
            about |= {each.name: getattr(entry, each.name) for each in fields(DeadLetterEntry)}
            about |= dict(zip(("encoding", "payload"), _payload(entry.payload, form), strict=True))
        out.write(as_json(about))
        out.write("\n")
    return Exported(len(read) - len(unreadable), unreadable)


def as_json(value: object) -> str:
    """A value on one line: bytes become base64, times ISO 8601, and what JSON does not know its text."""
    return json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"))


def row_of(payload: bytes) -> dict[str, object] | None:
    """The row that a payload holds; None when it holds something else."""
    table = unpacked(payload)
    return table.to_pylist()[0] if table is not None and table.num_rows == 1 else None


def _payload(payload: bytes, form: PayloadForm) -> tuple[str, object]:
    if form is PayloadForm.TEXT:
        row = row_of(payload)
        if row is not None:
            return "json", row
        try:
            return "utf-8", payload.decode()
        except UnicodeDecodeError:
            pass
    return "base64", base64.b64encode(payload).decode()


def _plain(value: object) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime() | date() | time_of_day():
            return value.isoformat()
        case _:
            return str(value)
