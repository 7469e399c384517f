"""Broken documents, made from the schema and from the full document: deleted, misspelled, retyped, moved and torn."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from holdfast.config.schema import Node
from tests.support.documents import (
    FULL,
    Path,
    Spot,
    at,
    several_sources,
    several_stores,
    text_of,
    walk,
    with_value,
    without,
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A document with one thing wrong."""

    name: str
    text: str
    path: Path | None = None
    """The value in the broken document that must be told; None when only the text is wrong."""
    says: str = ""
    """What the problem there must say."""
    at_key: bool = False
    """Whether its place must be that of the key, and not only somewhere in the value."""


def broken_documents() -> list[Broken]:
    """All of them."""
    return [*_deleted(), *_misspelled(), *_retyped(), *_moved(), *_swapped(), *_doubled()]


def _documents() -> Iterator[tuple[Any, Spot]]:
    """Every value that is not the whole, once for each key of each kind of block."""
    seen: set[tuple[str, str | int]] = set()
    for document in (FULL, several_sources(), *several_stores()):
        for spot in walk(document):
            if spot.path and (spot.block, spot.key) not in seen:
                seen.add((spot.block, spot.key))
                yield document, spot


def _name(how: str, path: Path) -> str:
    return f"{how} {'.'.join(map(str, path))}"


def _deleted() -> Iterator[Broken]:
    """A key that is needed is not there."""
    for document, spot in _documents():
        if spot.is_required and isinstance(spot.key, str):
            text = text_of(without(document, spot.path))
            yield Broken(_name("deleted", spot.path), text, spot.path[:-1], f"has no `{spot.key}`")


def _misspelled() -> Iterator[Broken]:
    """A key has a letter less, two letters swapped, or one twice."""
    for document, spot in _documents():
        key = spot.key
        if isinstance(key, str):
            known = at(document, spot.path[:-1]).keys()
            middle = len(key) // 2
            wrong = (key[:-1], key[: middle - 1] + key[middle] + key[middle - 1] + key[middle + 1 :], key + key[-1])
            for name in sorted({name for name in wrong if name not in known and name != "source"}):
                path = (*spot.path[:-1], name)
                yield Broken(
                    _name(f"{key} as", path),
                    text_of(_renamed(document, spot.path, name)),
                    path,
                    f"Did you mean `{key}`?",
                    True,
                )


def _renamed(document: Any, path: Path, name: str) -> Any:
    changed = copy.deepcopy(document)
    block = at(changed, path[:-1])
    items = [(name if key == path[-1] else key, value) for key, value in block.items()]
    block.clear()
    block.update(items)
    return changed


WRONG: dict[str, list[object]] = {
    "integer": ["many", -1, 1.5, True, [], {}, None],
    "number": ["much", -1, True, [], {}, None],
    "boolean": ["no", 1, [], {}, None],
    "string": [7, True, [], {}, None],
    "array": ["one", 7, {"a": 1}],
    "object": ["one", 7, ["a"]],
}


def _retyped() -> Iterator[Broken]:
    """A value is of another type, or empty."""
    for document, spot in _documents():
        for value in _wrong_values(spot.node):
            if spot.key == "conf" and value == {}:
                continue
            text = text_of(with_value(document, spot.path, value))
            yield Broken(_name(f"{value!r} for", spot.path), text, spot.path, "must be")


def _wrong_values(node: Node) -> list[object]:
    if node.get("title") == "size" or any(choice.get("title") == "size" for choice in node.get("anyOf", ())):
        return ["16mib", -1, 1.5, [], {}, None]
    if "anyOf" in node:
        return ["whenever", -1, [], {}, None]
    return WRONG[node["type"]]


def _moved() -> Iterator[Broken]:
    """A key stands one block too high."""
    for document, spot in _documents():
        *above, key = spot.path
        if len(above) > 1 and isinstance(key, str) and isinstance(above[-1], str):
            parent = tuple(above[:-1])
            if key not in _known_in(document, parent):
                text = text_of(with_value(without(document, spot.path), (*parent, key), at(document, spot.path)))
                yield Broken(_name("moved up", spot.path), text, (*parent, key), "It is a key of", True)


def _known_in(document: Any, path: Path) -> set[str]:
    """The keys that may stand in a block."""
    return next(set(spot.node.get("properties", ())) for spot in walk(document) if spot.path == path)


def _swapped() -> Iterator[Broken]:
    """Two sections of the document have changed places."""
    keys = [key for key in FULL["spec"] if key not in ("source", "directory", "output_mode")]
    for first, second in pairwise(keys):
        spec = FULL["spec"]
        changed = with_value(FULL, ("spec", first), spec[second])
        yield Broken(f"{first} and {second} swapped", text_of(with_value(changed, ("spec", second), spec[first])))


def _doubled() -> Iterator[Broken]:
    """A line stands there twice."""
    lines = text_of(FULL).splitlines(keepends=True)
    for number, line in enumerate(lines):
        if ": " in line and not line.lstrip().startswith("-"):
            yield Broken(f"line {number + 1} twice", "".join([*lines[: number + 1], line, *lines[number + 1 :]]))


def torn_documents(seed: int, count: int) -> Iterator[Broken]:
    """Documents that were cut off, or in which a few characters were changed. Some of them may still be valid."""
    random = Random(seed)
    text = text_of(FULL)
    for number in range(count):
        if number % 2:
            yield Broken(f"cut {number}", text[: random.randrange(len(text))])
        else:
            letters = list(text)
            for _ in range(random.randint(1, 4)):
                letters[random.randrange(len(letters))] = random.choice("{}[]:,'\"&*!|>%@`#-\t\n \x00\x85$\\é?~")
            yield Broken(f"scratched {number}", "".join(letters))
