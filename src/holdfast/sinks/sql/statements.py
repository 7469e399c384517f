"""The SQL that all dialects share, as text. `?1`, `?2` … stand for parameters; nothing here is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.sinks.sql.mode import Mode, Upsert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CURSORS = "_holdfast_cursors"
"""The table beside the rows in which a sink keeps how far it is and who owns it."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table, as text quoted; `schema` is None where the connection decides it."""

    table: str
    schema: str | None = None

    def beside(self, table: str) -> TableName:
        """Another table in the same schema."""
        return TableName(table, self.schema)

    def __str__(self) -> str:
        return ".".join(quoted(name) for name in (self.schema, self.table) if name is not None)


def quoted(name: str) -> str:
    """An identifier that may hold any character."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Identifiers with commas between them."""
    return ", ".join(quoted(name) for name in names)


def create_table(table: TableName, columns: Mapping[str, str], mode: Mode) -> str:
    """A table with these columns and their types; in an upsert the key is its primary key."""
    definitions = [f"{quoted(name)} {type_}" for name, type_ in columns.items()]
    if isinstance(mode, Upsert):
        definitions.append(f"PRIMARY KEY ({listed(mode.key)})")
    return f"CREATE TABLE {table} ({', '.join(definitions)})"


def insert(table: TableName, columns: Iterable[str], rows: str, mode: Mode) -> str:
    """Add `rows`, a VALUES list or a SELECT; in an upsert only where there is none of that key, or an older one."""
    names = list(columns)
    statement = f"INSERT INTO {table} AS stored ({listed(names)}) {rows}"
    if not isinstance(mode, Upsert):
        return statement
    newer_by = quoted(mode.newer_by)
    changes = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in names if name not in mode.key)
    return (
        f"{statement} ON CONFLICT ({listed(mode.key)}) DO UPDATE SET {changes} "
        f"WHERE excluded.{newer_by} > stored.{newer_by}"
    )
