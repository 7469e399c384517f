"""Rows as JSON text, one for each, and what it means when one has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.model.errors import Fatal, Rejected
from holdfast.sinks.columns.jsontext import json_lines
from holdfast.sinks.columns.kinds import groups

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS_AT_ONCE = 4096
"""How many rows are text in Arrow at the same time."""


def row_texts(rows: pa.Table) -> Iterator[str]:
    """Each row as an object of JSON. `Rejected` when a row cannot be written so, `Fatal` when a column cannot."""
    try:
        for group in groups(rows, _ROWS_AT_ONCE):
            group.validate(full=True)
            yield from (line[:-1] for line in json_lines(group).to_pylist())
    except pa.ArrowInvalid as error:
        raise Rejected(
            f"A row cannot be written as JSON: {error}.",
            kept="Nothing was sent.",
            remedy="The rows that are refused alone go to the dead letters; mend them there, or in a step before.",
        ) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise Fatal(
            f"The rows have a column that cannot be written as JSON: {error}.",
            kept="Nothing was sent.",
            remedy="Cast the column to another type in the last step of the pipeline.",
        ) from error
