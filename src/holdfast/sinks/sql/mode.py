"""How rows get into a table: added, or put in place of the row with the same key. Values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from holdfast.model.errors import InvalidPipeline


@dataclass(frozen=True, init=False)
class Upsert:
    """One row a key: a row replaces the stored one with the same key when it is newer, and is ignored otherwise.

    :param key: the columns that tell rows apart; the table has a primary key or a unique index on exactly these.
    :param newer_by: an integer, date or timestamp; of two rows with one key the one that has more of it stays, and of
        two with the same the first.
    """

    key: tuple[str, ...]
    newer_by: str

    def __init__(self, key: Sequence[str], newer_by: str = "seq") -> None:
        object.__setattr__(self, "key", (key,) if isinstance(key, str) else tuple(key))
        object.__setattr__(self, "newer_by", newer_by)
        if not self.key or newer_by in self.key:
            raise InvalidPipeline(
                f"An upsert by the key {list(self.key)} that keeps the greatest {newer_by!r} means nothing.",
                remedy="Name at least one key column, and let newer_by be a column outside the key.",
            )


Mode = Literal["append"] | Upsert
"""`"append"` adds every row; that the same batch is not added twice is the cursor's work."""
