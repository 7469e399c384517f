"""Writes events as JSON lines, for people and for tools that know no Arrow. Bytes become base64, times ISO 8601."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def write_lines(batch: pa.RecordBatch, out: IO[str]) -> int:
    """Write each row as one line; how many they were."""
    for row in batch.to_pylist():
        out.write(json.dumps(row, default=_plain, ensure_ascii=False, separators=(",", ":")))
        out.write("\n")
    return int(batch.num_rows)


def _plain(value: object) -> str:
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case datetime():
            return value.isoformat()
        case _:
            message = f"{type(value).__name__} has no form in JSON."
            raise TypeError(message)
