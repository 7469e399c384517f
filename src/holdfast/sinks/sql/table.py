"""The table of a sink: made from the Arrow schema when it is missing, compared with it when it is there.

A table is never altered: a column that it lacks, or one that it needs and the rows lack, stops the lane with a sentence
that says what to do. Such a difference concerns every row, so no row is refused for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.model.errors import Fatal, Rejected
from holdfast.sinks.columns.jsontext import nested_text
from holdfast.sinks.columns.kinds import NESTED, Kind, kind_of, plain, stored_type
from holdfast.sinks.sql.mode import Mode, Upsert
from holdfast.sinks.sql.tags import TAG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.sinks.sql.statements import TableName

_COMPARABLE = frozenset({Kind.INTEGER, Kind.UNSIGNED, Kind.DATE, Kind.DATETIME, Kind.INSTANT})
"""The kinds whose order every database sees as we do, also where they are stored as text."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a database takes a kind of values: the type of a new column, and the values as its driver wants them."""

    sql: str | Callable[[pa.DataType], str]
    converted: Callable[[pa.Array], pa.Array] = lambda array: array


@dataclass(frozen=True, slots=True)
class Table:
    """The table that rows go into."""

    name: TableName
    mode: Mode
    forms: Mapping[Kind, Form]

    def columns(self, schema: pa.Schema) -> dict[str, str]:
        """The definition of each column of a new table."""
        never_null = {*self.mode.key, self.mode.newer_by} if isinstance(self.mode, Upsert) else set()
        return {
            field.name: self._sql_type(field) + (" NOT NULL" if field.name in never_null else "") for field in schema
        }

    def converted(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """The columns as the driver wants them; `Rejected` when a row holds what the database cannot keep."""
        return [self._converted(field.name, array) for field, array in zip(rows.schema, rows.columns, strict=True)]

    def check_schema(self, schema: pa.Schema) -> None:
        """Refuse rows that the mode cannot work with."""
        if not isinstance(self.mode, Upsert):
            return
        missing = [name for name in (*self.mode.key, self.mode.newer_by) if name not in schema.names]
        if missing:
            raise _fatal(
                f"The rows for {self.name} have no column {_named(missing)}, by which they are to be upserted.",
                "Let the last step of the pipeline give these columns, or name others in `Upsert`.",
            )
        kind = kind_of(schema.field(self.mode.newer_by).type, self.mode.newer_by)
        if kind not in _COMPARABLE:
            raise _fatal(
                f"Column {self.mode.newer_by!r} of the rows for {self.name} is {kind.value}, and cannot say which of "
                "two rows is newer.",
                "Let newer_by name an integer, a date or a timestamp, for instance `seq`.",
            )

    def check_columns(self, there: Mapping[str, bool], schema: pa.Schema) -> None:
        """Compare with the columns of the table: their names, and whether a row must give them a value."""
        missing = [name for name in schema.names if name not in there]
        if missing:
            raise _fatal(
                f"The table {self.name} has no column {_named(missing)}, which the rows have.",
                "Add it to the table (it is never altered by itself), or drop it in the last step of the pipeline.",
            )
        ours = {*schema.names, TAG}
        wanting = [name for name, is_needed in there.items() if is_needed and name not in ours]
        if wanting:
            raise _fatal(
                f"The table {self.name} needs a value for {_named(wanting)}, which the rows do not have.",
                "Give the column a default in the table, or add it in the last step of the pipeline.",
            )

    def check_keys(self, rows: pa.Table) -> None:
        """Refuse rows without a key: they are equal to none, and would be added again and again."""
        if isinstance(self.mode, Upsert):
            for name in (*self.mode.key, self.mode.newer_by):
                if rows.column(name).null_count:
                    raise refused(name, "it is null, and the rows are upserted by it")

    def _sql_type(self, field: pa.Field) -> str:
        sql = self.forms[kind_of(field.type, field.name)].sql
        return sql if isinstance(sql, str) else sql(stored_type(field.type))

    def _converted(self, name: str, array: pa.Array) -> pa.Array:
        kind = kind_of(array.type, name)
        try:
            array.validate(full=True)
            return self.forms[kind].converted(nested_text(array, name) if kind in NESTED else plain(array))
        except pa.ArrowInvalid as error:
            raise refused(name, str(error)) from error


def refused(column: str, reason: str) -> Rejected:
    """The error for rows with a value that the database cannot keep."""
    return Rejected(
        f"A value of column {column!r} cannot be written: {reason}.",
        kept="Nothing of the batch was written.",
        remedy="The rows that hold such a value go to the dead letters; mend them there, or in a step before.",
        column=column,
    )


def _fatal(what: str, remedy: str) -> Fatal:
    return Fatal(what, kept="Nothing of the batch was written.", remedy=remedy)


def _named(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
