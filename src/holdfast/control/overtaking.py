"""Whether a row that was given up was overtaken: whether its source has had a newer event of the same key since.

The inbox is searched, as far back as it reaches and no further than a number of events. What cannot be told is unknown.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.log import InboxReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

SEARCHED = 1_000_000
"""How many events are searched at most, the newest ones."""

_KEY = "key"
_PLACE = ("database", "schema", "table", _KEY)
"""What tells the rows of a source apart."""


class Standing(Enum):
    """How a row stands among the events of its key."""

    OVERTAKEN = "overtaken"
    """There is a newer event of its key: a sink that keeps the newest row of a key ignores this one."""
    NEWEST = "newest"
    UNKNOWN = "unknown"
    """The row has no key, source or seq, or what came after it is gone from the inbox."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a row is about, as far as it says so itself."""

    source: str
    seq: int
    columns: tuple[str, ...]
    """Those of the columns that tell rows apart which it has."""
    values: tuple[object, ...]

    @classmethod
    def of(cls, row: pa.Table) -> Subject | None:
        """What this one row is about; None when it does not say."""
        said = {name: row[name][0].as_py() for name in ("source", "seq", *_PLACE) if name in row.column_names}
        source, seq = said.get("source"), said.get("seq")
        if not isinstance(source, str) or not isinstance(seq, int) or not isinstance(said.get(_KEY), str):
            return None
        columns = tuple(name for name in _PLACE if name in said)
        return cls(source, seq, columns, tuple(said[name] for name in columns))


def standings(subjects: Sequence[Subject | None], inbox: Callable[[str], Path | None]) -> list[Standing]:
    """How each of these stands.

    :param inbox: where the inbox of a source lies; None when it has none.
    """
    by_source: dict[str, list[Subject]] = defaultdict(list)
    for subject in subjects:
        if subject is not None:
            by_source[subject.source].append(subject)
    searches = {source: _search(inbox(source), some) for source, some in by_source.items()}
    return [Standing.UNKNOWN if subject is None else searches[subject.source].standing(subject) for subject in subjects]


@dataclass(frozen=True, slots=True)
class _Search:
    """What was found in one inbox: the newest `seq` for the values of the columns, among the events behind a seq."""

    newest: Mapping[tuple[tuple[str, ...], tuple[object, ...]], int]
    behind: int | None
    """None when there was nothing to search in."""

    def standing(self, subject: Subject) -> Standing:
        if self.newest.get((subject.columns, subject.values), 0) > subject.seq:
            return Standing.OVERTAKEN
        return Standing.UNKNOWN if self.behind is None or self.behind > subject.seq else Standing.NEWEST


def _search(directory: Path | None, subjects: Sequence[Subject]) -> _Search:
    if directory is None:
        return _Search({}, None)
    keys = pa.array({subject.values[-1] for subject in subjects}, pa.string())
    shapes = {subject.columns for subject in subjects}
    newest: dict[tuple[tuple[str, ...], tuple[object, ...]], int] = {}
    with InboxReader.open(directory) as reader:
        end = reader.end()
        behind = max(reader.first() - 1, end - SEARCHED, min(subject.seq for subject in subjects))
        for batch in reader.read(min(behind, end), end):
            found = batch.filter(pc.is_in(batch[_KEY], value_set=keys)).to_pylist()
            for row, columns in ((row, columns) for row in found for columns in shapes):
                about = columns, tuple(row[name] for name in columns)
                newest[about] = max(row["seq"], newest.get(about, 0))
    return _Search(newest, behind)
