"""Documents in TOML, read strictly: a key that is not known is refused with the one that was meant, and its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from holdfast.config.problems import Place, Problem, dotted, invalid, nearest
from holdfast.model.errors import DocumentUnreadable, InvalidDocument

_MOST_BYTES = 2**20
_LONGEST_LINE = 4_000
"""Characters: the time that `tomllib` takes grows with the square of the length of a dotted key."""


class Section(BaseModel):
    """Keys and values of one table."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True)


Document = TypeVar("Document", bound=Section)


def load(model: type[Document], path: Path) -> Document:
    """The document in a file; `InvalidDocument` with everything that is wrong with it."""
    try:
        with path.open("rb") as file:
            given = file.read(_MOST_BYTES + 1)
        if len(given) > _MOST_BYTES:
            raise _too_large(str(path))
        text = given.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentUnreadable(f"{path} cannot be read: {error}.", remedy="Name a TOML file in UTF-8.") from error
    return parse(model, text.replace("\r\n", "\n"), str(path))


def parse(model: type[Document], text: str, file: str) -> Document:
    """The document in a text."""
    _require_short_lines(text, file)
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, or a value nested a thousand times
        raise invalid(file, [Problem(Place(file), f"It is no TOML: {error}.", "Mend it there.")]) from error
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid(file, _problems(model, error, text, file)) from error


def _require_short_lines(text: str, file: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if len(line) > _LONGEST_LINE:
            what = f"The line has more than {_LONGEST_LINE:,} characters."
            raise invalid(file, [Problem(Place(file, number), what, "Write the values on several lines.")])


def _too_large(file: str) -> InvalidDocument:
    return invalid(file, [Problem(Place(file), "It is larger than 1 MiB.", "Write a smaller document.")])


def _problems(model: type[BaseModel], error: ValidationError, text: str, file: str) -> Iterator[Problem]:
    for found in error.errors(include_url=False):
        path = tuple(found["loc"])
        place = Place(file, _line_of(text, [str(part) for part in path if isinstance(part, str)]))
        yield Problem(place, *_words(model, found, path), path)


def _words(model: type[BaseModel], found: Mapping[str, Any], path: tuple[str | int, ...]) -> tuple[str, str]:
    if found["type"] == "extra_forbidden":
        known = _keys_beside(model, path)
        meant = nearest(str(path[-1]), known)
        remedy = f"Did you mean `{meant}`?" if meant else f"The keys there are {', '.join(known)}."
        return f"`{dotted(path)}` is not known.", remedy
    if found["type"] == "missing":
        return f"`{dotted(path)}` is missing.", "Add it."
    return f"`{dotted(path)}`: {found['msg']}.", f"It is {found['input']!r} now."


def _keys_beside(section: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    for part in path[:-1]:
        if str(part) not in section.model_fields:
            continue  # a name that the document gives itself
        annotation = section.model_fields[str(part)].annotation
        section = next(each for each in _choices(annotation) if isinstance(each, type) and issubclass(each, BaseModel))
    return list(section.model_fields)


def _choices(annotation: object) -> Iterator[object]:
    yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _choices(inner)


def _line_of(text: str, names: list[str]) -> int:
    """The line where a key stands, or its table; 1 when neither does."""
    line = 1
    for name in names:
        pattern = re.compile(rf"\s*(\[{re.escape(name)}\]|{re.escape(name)}\s*=)")
        rest = text.splitlines()[line - 1 :]
        line += next((number for number, each in enumerate(rest) if pattern.match(each)), 0)
    return line
