"""The files in which Spark's tasks leave the rows of a batch. Runs in Spark's Python workers and knows no index.

A part is invisible until the driver publishes it by name, so a task that died, or ran twice, leaves nothing but a file
that is swept later. Its name tells the epoch of the owner for which it was written.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.disk.files import sync_directory
from holdfast.log.oserrors import disk_error
from holdfast.log.segment import read_place
from holdfast.log.values import PartRef
from holdfast.model.errors import InvalidAppend
from holdfast.model.steps import Step, StepHook, no_hook

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

_NAME = re.compile(r"part-(\d+)-.+\.arrow")
_BUFFER = 2**20


def part_name(*, epoch: int, generation: int, batch_id: int, partition: int, attempt: int) -> str:
    """The name of a part: another one for every attempt of every task."""
    return f"part-{epoch}-{generation}-{batch_id}-{partition}-{attempt}.arrow"


def epoch_of_part(name: str) -> int | None:
    """The epoch of the owner for which the part was written; None when it is no part."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def write_part(
    directory: Path, name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema, *, hook: StepHook = no_hook
) -> PartRef:
    """Write rows to a new file as they come, and make it durable. What is returned is to be published."""
    path = directory / name
    hook(Step.PART_WRITE)
    try:
        with _PartFile(path) as file:
            rows, nbytes = _stream(file, batches, schema)
            hook(Step.PART_FSYNC)
            file.sync()
        sync_directory(directory)
    except FileExistsError as error:
        raise InvalidAppend(
            f"The part {path} exists.", remedy="Give every attempt of every task a name of its own.", path=str(path)
        ) from error
    except OSError as error:
        with suppress(OSError):
            path.unlink()
        raise disk_error(error, path) from error
    hook(Step.PART_WRITTEN)
    return PartRef(name, rows, file.length, file.crc32c, nbytes)


def read_part(directory: Path, part: PartRef) -> pa.Table:
    """The rows of a part, verified. `LogMissing` or `LogDamaged` when the file is not what was written."""
    data = read_place(directory / part.file, 0, part.length, part.crc32c)
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


def read_parts(directory: Path, parts: Sequence[PartRef]) -> pa.Table:
    """The rows of all parts of a batch, verified and in order: part by part, and by `seq` if they have one."""
    tables = [read_part(directory, part) for part in parts]
    return _in_order(pa.concat_tables(tables)) if tables else pa.table({})


def _stream(file: _PartFile, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> tuple[int, int]:
    rows = nbytes = 0
    with pa.PythonFile(file, mode="w") as out, pa.ipc.new_stream(out, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += batch.num_rows
            nbytes += batch.nbytes
    return rows, nbytes


def _in_order(table: pa.Table) -> pa.Table:
    """The events of one source by their number, source after source: so the rows of a transaction are neighbours."""
    if "seq" not in table.column_names:
        return table
    is_mixed = "source" in table.column_names and len(pc.unique(table["source"])) > 1
    seqs = table["seq"].to_numpy()
    if not is_mixed and bool(np.all(seqs[1:] >= seqs[:-1])):
        return table
    keys = ["source", "seq"] if is_mixed else ["seq"]
    return table.take(pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys]))


class _PartFile:
    """A new file that knows the checksum of all that was written to it."""

    def __init__(self, path: Path) -> None:
        self.length = 0
        self.crc32c = 0
        self.closed = False
        self._file = path.open("xb", buffering=_BUFFER)

    def write(self, data: pa.Buffer | bytes) -> int:
        """Arrow hands in the buffers of the columns as they are, and the small things between them as bytes."""
        self.crc32c = google_crc32c.extend(self.crc32c, data)
        self._file.write(data)
        self.length += len(data)
        return len(data)

    def sync(self) -> None:
        """Make what was written durable."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def flush(self) -> None:
        """Arrow asks for it at the end of a stream; `sync` does it."""

    def tell(self) -> int:
        """How much was written."""
        return self.length

    def close(self) -> None:
        """Arrow closes the stream; the file is closed by whoever opened it."""

    def __enter__(self) -> _PartFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
