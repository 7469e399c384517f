"""What the sinks that write into a table have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from holdfast.config.fields import Block, Text
from holdfast.config.sinks.base import SinkBlock
from holdfast.sinks.sql.mode import Mode, Upsert


class UpsertBlock(Block):
    """One row a key: a newer row takes the place of the one that is there."""

    key: Annotated[list[Text], Field(min_length=1)]
    """The columns that tell rows apart."""
    newer_by: Text = "seq"
    """The column that tells which of two rows with one key is newer: an integer, a date or a timestamp."""

    def check(self) -> None:
        """Such an upsert must mean something."""
        self.mode()

    def mode(self) -> Upsert:
        """The value."""
        return Upsert(self.key, self.newer_by)


class TableBlock(SinkBlock):
    """A sink that writes into a table."""

    table: Text
    """The table, made when it does not exist."""
    upsert: UpsertBlock | None = None
    """Keep one row a key; without it, every row is added."""

    @property
    def mode(self) -> Mode:
        """How rows get into the table."""
        return self.upsert.mode() if self.upsert else "append"
