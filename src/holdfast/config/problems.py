"""What is wrong with a document: where, what, and what to do. Values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from holdfast.model.errors import InvalidDocument

Path = tuple[str | int, ...]
"""The keys and numbers of items that lead to a value: `("spec", "sinks", 0, "retry")`."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A character of a document; line and column are counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    place: Place
    what: str
    remedy: str
    path: Path | None = field(default=None, compare=False, repr=False)
    """The value it concerns, when it concerns one."""

    def __str__(self) -> str:
        return f"{self.place}: {self.what} {self.remedy}"


def invalid(file: str, problems: Iterable[Problem]) -> InvalidDocument:
    """The error that tells all problems of a document at once, in the order in which they stand there."""
    found = tuple(sorted(problems, key=lambda problem: problem.place))
    count = "one problem" if len(found) == 1 else f"{len(found)} problems"
    lines = "\n".join(f"  {problem}" for problem in found)
    return InvalidDocument(f"{file} has {count}.\n{lines}\n", remedy="Mend each place.", problems=found)


def dotted(path: Path) -> str:
    """A path as people write it: `spec.sinks[0].retry`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant, if one is near."""
    by_letters = {_letters(known): known for known in names}
    found = get_close_matches(_letters(name), by_letters, n=1)
    return by_letters[found[0]] if found else None


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
