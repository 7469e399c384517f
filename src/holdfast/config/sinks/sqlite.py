"""`type: sqlite`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from holdfast.config.fields import Text
from holdfast.config.sinks.table import TableBlock

if TYPE_CHECKING:
    from holdfast.deliver import Sink


class SqliteBlock(TableBlock):
    """A table of a SQLite file on a local disk."""

    local_paths: ClassVar[tuple[str, ...]] = ("path",)

    type: Literal["sqlite"]
    """A table of a SQLite file."""
    path: Text
    """The file, made when it does not exist."""

    def sink(self) -> Sink:
        """A table of a SQLite file."""
        from holdfast.sinks.sqlite import Sqlite

        return Sqlite(self.path, table=self.table, mode=self.mode)
