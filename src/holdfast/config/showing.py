"""A value of a document as it may be shown: as it is written there, and nothing of a secret."""

from __future__ import annotations

from pydantic import SecretStr

from holdfast.config.fields import Block
from holdfast.config.problems import Path
from holdfast.config.references import is_reference
from holdfast.config.schema import schema_of_values
from holdfast.config.syntax import Tree

REDACTED = "***"


def shown(tree: Tree, path: Path, value: object) -> str:
    """The value at a path; references in it stay as they are written."""
    if isinstance(value, SecretStr):
        written = _written(tree, path)
        return written if is_reference(written) else REDACTED
    if isinstance(value, Block):
        given = [key for key in type(value).model_fields if key in value.model_fields_set]
        return _braced({key: shown_key(tree, path, value, key) for key in given})
    if isinstance(value, dict):
        return _braced({key: shown(tree, (*path, key), item) for key, item in value.items()})
    if isinstance(value, list):
        return f"[{', '.join(shown(tree, (*path, number), item) for number, item in enumerate(value))}]"
    return "nothing" if value is None else _written(tree, path)


def shown_key(tree: Tree, path: Path, block: Block, key: str) -> str:
    """The value of a key of the block at a path; its default when it is not written."""
    if key in block.model_fields_set:
        return shown(tree, (*path, key), getattr(block, key))
    schema = schema_of_values()["$defs"][type(block).__name__]["properties"][key]
    default = schema.get("default", "nothing")
    return str(default).lower() if isinstance(default, bool) else str(default)


def _written(tree: Tree, path: Path) -> str:
    return " ".join((tree.spots[path].written or "").split())


def _braced(items: dict[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {item}" for key, item in items.items()) + "}"
