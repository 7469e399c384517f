"""Which files are rotations of one log, and which of them is older. Pure: names and times of change in, an order out.

Names decide, because a time of change is that of the last write, of the copy or of the compression, as it happens:

- `app.log.1`, `app.log.2.gz`, `app.1.log`: the larger number is older.
- `app.log-20261118.gz`, `app-2026-11-18.log`, `app.log.1763424000`: the earlier date is older. What follows a date
  counts up, as in `app.log-20261118-2`.
- The name without either is that of the newest file.

Where a log has several of these, the time of change decides between its rotated files, and then the name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum, auto
from os.path import split
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

_EXTENSION = r"(?P<extension>\.[A-Za-z]\w*)?"
_DATED = re.compile(
    r"(?P<base>.*?)[._-](?P<date>(?:19|20)\d\d([-_]?)(?:0[1-9]|1[0-2])\3(?:0[1-9]|[12]\d|3[01]))(?P<rest>[-_.:T\d]*)"
    + _EXTENSION,
    re.ASCII,
)
_SECONDS = re.compile(r"(?P<base>.+)[._-](?P<date>\d{9,11})" + _EXTENSION, re.ASCII)
_NUMBERED = re.compile(r"(?P<base>.+)\.(?P<number>\d{1,5})" + _EXTENSION, re.ASCII)


class _Kind(Enum):
    NUMBERED = auto()
    DATED = auto()
    SECONDS = auto()
    CURRENT = auto()


@dataclass(frozen=True, slots=True)
class _Name:
    log: str
    """The path of the file that is written to now."""
    kind: _Kind
    age: tuple[int, ...] = ()
    """Ascending from the oldest, among names of the same kind."""


def in_order(files: Iterable[T], path: Callable[[T], str], changed: Callable[[T], int]) -> list[list[T]]:
    """The files log by log, those of each log from the oldest to the newest."""
    logs: dict[str, dict[T, _Name]] = defaultdict(dict)
    for file in files:
        name = _understood(path(file))
        logs[name.log][file] = name
    return [_sorted(names, path, changed) for names in logs.values()]


def _sorted(names: Mapping[T, _Name], path: Callable[[T], str], changed: Callable[[T], int]) -> list[T]:
    kinds = {name.kind for name in names.values()} - {_Kind.CURRENT}
    is_mixed = len(kinds) > 1

    def key(file: T) -> tuple[bool, tuple[int, ...], int, str]:
        name = names[file]
        return name.kind is _Kind.CURRENT, () if is_mixed else name.age, changed(file), path(file)

    return sorted(names, key=key)


def _understood(path: str) -> _Name:
    directory, name = split(path.removesuffix(".gz"))
    if found := _DATED.fullmatch(name):
        date = int(re.sub(r"\D", "", found["date"]))
        kind, age = _Kind.DATED, (date, *map(int, re.findall(r"\d+", found["rest"])))
    elif found := _SECONDS.fullmatch(name):
        kind, age = _Kind.SECONDS, (int(found["date"]),)
    elif found := _NUMBERED.fullmatch(name):
        kind, age = _Kind.NUMBERED, (-int(found["number"]),)
    else:
        return _Name(f"{directory}/{name}", _Kind.CURRENT)
    return _Name(f"{directory}/{found['base']}{found['extension'] or ''}", kind, age)
