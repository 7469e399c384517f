"""What changed between two versions of a key, as a person would ask it. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Missing(Enum):
    """Stands for a place that one of the two versions does not have."""

    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Change:
    """One place that differs. A JSON member has a path as `positions.orders.lsn`; a whole payload has none."""

    path: str
    before: object
    after: object

    def __str__(self) -> str:
        return f"{self.path or '(payload)'}: {_text(self.before)} -> {_text(self.after)}"


def difference(before: bytes, after: bytes) -> tuple[Change, ...]:
    """The places that differ: member by member for JSON, and only the sizes for anything else."""
    if before == after:
        return ()
    try:
        return tuple(_changes("", json.loads(before), json.loads(after)))
    except (ValueError, RecursionError):
        return (Change("", f"{len(before)} bytes", f"{len(after)} bytes"),)


def _changes(path: str, before: object, after: object) -> Iterator[Change]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            inner = f"{path}.{name}" if path else str(name)
            yield from _changes(inner, before.get(name, Missing.ABSENT), after.get(name, Missing.ABSENT))
    elif before != after:
        yield Change(path, before, after)


def _text(value: object) -> str:
    return value.value if isinstance(value, Missing) else json.dumps(value)
