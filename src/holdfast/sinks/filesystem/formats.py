"""Rows as the bytes of a file. The same rows always give the same bytes, however the table happens to be cut.

For that the rows are written in groups of a fixed number, every option of the Parquet writer that shows in its bytes is
set here, and a file ends only between two groups. Opens and publishes nothing: it writes to what it is given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from holdfast.model.errors import Fatal, Rejected
from holdfast.sinks.columns.jsontext import json_lines
from holdfast.sinks.columns.kinds import groups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PARQUET_OPTIONS: Mapping[str, object] = {
    "version": "2.6",
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": True,
    "dictionary_pagesize_limit": 1 << 20,
    "data_page_version": "1.0",
    "data_page_size": 1 << 20,
    "write_batch_size": 1024,
    "write_statistics": True,
    "write_page_index": False,
    "write_page_checksum": False,
    "use_byte_stream_split": False,
    "store_decimal_as_integer": False,
    "use_compliant_nested_type": True,
    "store_schema": True,
}


class Format(Enum):
    """What a file holds; the value is the ending of its name."""

    PARQUET = "parquet"
    JSONL = "jsonl"


class _Writer(ABC):
    """Writes one file."""

    rows_in_group: int

    def __init__(self, target: pa.NativeFile, schema: pa.Schema) -> None:
        self.target = target

    @abstractmethod
    def write(self, group: pa.RecordBatch) -> None:
        """Write the next rows."""

    def finish(self) -> None:
        """Write what comes after the rows."""
        self.target.close()


class _ParquetFile(_Writer):
    rows_in_group = 131_072

    def __init__(self, target: pa.NativeFile, schema: pa.Schema) -> None:
        super().__init__(target, schema)
        self._writer = parquet.ParquetWriter(target, schema, **_PARQUET_OPTIONS)

    def write(self, group: pa.RecordBatch) -> None:
        self._writer.write_batch(group, row_group_size=self.rows_in_group)

    def finish(self) -> None:
        self._writer.close()
        super().finish()


class _JsonlFile(_Writer):
    rows_in_group = 16_384

    def write(self, group: pa.RecordBatch) -> None:
        lines = json_lines(group)
        length = pc.sum(pc.binary_length(lines)).as_py()
        self.target.write(lines.buffers()[2].slice(0, length))


_WRITERS: Mapping[Format, type[_Writer]] = {Format.PARQUET: _ParquetFile, Format.JSONL: _JsonlFile}


def write_parts(rows: pa.Table, format_: Format, rotate_at: int, new_part: Callable[[], pa.NativeFile]) -> None:
    """Write the rows into parts, a new one whenever the last has reached `rotate_at` bytes.

    `Rejected` when a row cannot be written in this format, `Fatal` when a column cannot.
    """
    make = _WRITERS[format_]
    writer: _Writer | None = None
    try:
        for group in groups(_decoded(rows), make.rows_in_group):
            group.validate(full=True)
            writer = writer or make(new_part(), group.schema)
            writer.write(group)
            if writer.target.tell() >= rotate_at:
                writer.finish()
                writer = None
        if writer is not None:
            writer.finish()
    except pa.ArrowInvalid as error:
        raise _refused(format_, error) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _unsupported(format_, error) from error


def _decoded(rows: pa.Table) -> pa.Table:
    """Without dictionaries, whose order would show in the bytes, and without notes beside the schema."""
    fields = [
        field.with_type(field.type.value_type) if types.is_dictionary(field.type) else field for field in rows.schema
    ]
    return rows.cast(pa.schema(fields))


def _refused(format_: Format, error: Exception) -> Rejected:
    return Rejected(
        f"A row cannot be written as {format_.value}: {error}.",
        kept="No file of the batch was published.",
        remedy="The rows that are refused alone go to the dead letters; mend them there, or in a step before.",
        format=format_.value,
    )


def _unsupported(format_: Format, error: Exception) -> Fatal:
    return Fatal(
        f"The rows have a column that cannot be written as {format_.value}: {error}.",
        kept="No file of the batch was published.",
        remedy="Cast the column to another type in the last step of the pipeline.",
        format=format_.value,
    )
