"""What the schema asks for at a place, in words, and a value that would do."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.config.problems import nearest
from holdfast.config.schema import Node, resolved

_WORDS = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "string": "text",
    "array": "a list",
    "object": "a block of keys",
}
_EXAMPLES = {"integer": 1, "number": 0.5, "boolean": "true"}
_LIMITS = {
    "minItems": "of at least {}",
    "minProperties": "of at least {}",
    "exclusiveMinimum": "above {}",
    "minimum": "from {} on",
    "maximum": "up to {}",
    "pattern": "that fits `{}`",
}
_NAMED = {
    "size": "a size",
    "duration": "a duration",
    "function": "a function",
    "name": "a name of up to 63 of a-z, 0-9, - and _",
}
"""What people know by an example."""


def expected(node: Node) -> str:
    """What a value must be."""
    node = resolved(node)
    if "const" in node:
        return f"`{node['const']}`"
    if "enum" in node:
        return f"one of {_listed(node['enum'])}" if len(node["enum"]) > 1 else _listed(node["enum"])
    if node.get("title") in _NAMED:
        return f"{_NAMED[node['title']]}, such as `{node['examples'][0]}`"
    if "anyOf" in node:
        return " or ".join(expected(choice) for choice in node["anyOf"])
    limits = [words.format(node[limit]) for limit, words in _LIMITS.items() if limit in node]
    return " ".join([_WORDS[_type(node)], *limits])


def remedy(before: str, node: Node, given: object) -> str:
    """What to write instead of the value that was given.

    :param before: what stands before the value: its key and a colon, or the dash of an item.
    """
    node = resolved(node)
    words = [word for choice in (node, *map(resolved, node.get("anyOf", ()))) for word in choice.get("enum", ())]
    meant = nearest(given, words) if isinstance(given, str) else None
    if meant:
        return f"Did you mean `{meant}`?"
    if "properties" in node:
        return f"Write its keys below it: {_listed(node['properties'])}."
    value = example(node)
    if value is None:
        return f"What belongs there: {node.get('description') or expected(node) + '.'}"
    return f"Write for instance `{before} {value}`."


def addition(key: str, node: Node) -> str:
    """How to add a key that is missing."""
    value = example(resolved(node))
    return f"Add `{key}: {value}`." if value is not None else f"Add `{key}`: {resolved(node)['description']}"


def example(node: Node) -> object:
    """A value that would do, as it is written; None when only the user can know one."""
    for value in (node.get("const"), node.get("default"), *node.get("enum", ()), *node.get("examples", ())):
        if value is not None:
            return str(value).lower() if isinstance(value, bool) else value
    if "anyOf" in node:
        return example(resolved(node["anyOf"][0]))
    return node.get("minimum") or _EXAMPLES.get(_type(node))


def _type(node: Node) -> str:
    kind = node.get("type", "object")
    return kind if isinstance(kind, str) else kind[0]


def _listed(words: Iterable[object]) -> str:
    return ", ".join(f"`{word}`" for word in words)
