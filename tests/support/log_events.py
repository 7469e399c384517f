"""Events for tests of the logs: numbered, so that what is read can be compared with what was appended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from holdfast.log import InboxReader
from holdfast.model.envelope import CAPTURED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SOURCE = "orders"


def events(
    rows: int, *, start: int = 1, ends: Iterable[int] | None = None, payload: int = 8, source: str = SOURCE
) -> pa.RecordBatch:
    """Events numbered from `start` on, which is also their position in the source.

    :param ends: the numbers of those that end a transaction; by default every one does.
    """
    numbers = np.arange(start, start + rows)
    text = pa.array(numbers).cast(pa.string())
    tx_end = np.ones(rows, dtype=bool) if ends is None else np.isin(numbers, list(ends))
    columns = {field.name: pa.nulls(rows, field.type) for field in CAPTURED} | {
        "event_id": pa.array([f"{source}/{number}/0" for number in numbers]),
        "source": pa.array([source] * rows, pa.string()),
        "op": pa.array(["c"] * rows, pa.string()),
        "capture_time": pa.array(np.zeros(rows, dtype=np.int64)).cast(pa.timestamp("us", tz="UTC")),
        "tx_end": pa.array(tx_end),
        "position": text,
        "payload": pa.array([b"." * payload] * rows, pa.binary()),
    }
    return pa.RecordBatch.from_arrays([columns[field.name] for field in CAPTURED], schema=CAPTURED)


def ids(*numbers: int) -> list[str]:
    """The ids of the events of these numbers."""
    return [f"{SOURCE}/{number}/0" for number in numbers]


def read_ids(directory: Path, after: int = 0, upto: int | None = None) -> list[str]:
    """The ids of the events that another process would read, which must be numbered without gaps."""
    with InboxReader.open(directory) as reader:
        batches = list(reader.read(after, upto))
    seqs = [seq for batch in batches for seq in batch["seq"].to_pylist()]
    assert seqs == list(range(after + 1, after + 1 + len(seqs)))
    return [found for batch in batches for found in batch["event_id"].to_pylist()]


def segment_files(directory: Path) -> list[Path]:
    """The segments of a log, oldest first."""
    return sorted((directory / "segments").iterdir())
