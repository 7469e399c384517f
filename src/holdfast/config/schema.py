"""The document's format as JSON Schema: for editors, for the reference, and to explain what is wrong at a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, NoDefault
from pydantic_core.core_schema import NullableSchema, WithDefaultSchema

from holdfast.config.pipeline import PipelineDocument
from holdfast.config.units import format_duration, format_size

Node = Mapping[str, Any]
"""A part of the schema."""

_REFERENCE = {"type": "string", "pattern": r"\$\{[^{}]+\}"}


def json_schema() -> dict[str, object]:
    """The schema for editors, in which a number, a flag or a word may also be written as a reference, `${NAME}`."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_with_references(schema_of_values())}


@cache
def schema_of_values() -> dict[str, Any]:
    """The schema of the values, once references are resolved."""
    return PipelineDocument.model_json_schema(schema_generator=_Generator)


def resolved(node: Node) -> Node:
    """The node itself, or what it refers to; what is said beside the reference wins."""
    if "$ref" not in node:
        return node
    target = schema_of_values()["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    return {**target, **{key: value for key, value in node.items() if key != "$ref"}}


def kinds(node: Node) -> dict[str, Node]:
    """The blocks that a `type` chooses between; none when there is no choice."""
    mapping = resolved(node).get("discriminator", {}).get("mapping", {})
    return {name: resolved({"$ref": reference}) for name, reference in mapping.items()}


def blocks(node: Node | None = None, path: str = "") -> Iterator[tuple[str, Node]]:
    """Every block by its path: `spec.sinks[].retry`, and `spec.sinks[] (files)` where a `type` chooses."""
    node = resolved(schema_of_values() if node is None else node)
    for kind, block in kinds(node).items():
        yield from blocks(block, f"{path} ({kind})")
    if "items" in node:
        yield from blocks(node["items"], f"{path}[]")
    if "properties" in node:
        yield path, node
        for key, value in node["properties"].items():
            yield from blocks(value, f"{path.split(' ')[0]}.{key}".removeprefix("."))


class _Generator(GenerateJsonSchema):
    """Without what only Python knows: nulls for absent keys, defaults in bytes, titles made of field names."""

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def nullable_schema(self, schema: NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def get_default_value(self, schema: WithDefaultSchema) -> object:
        default = super().get_default_value(schema)
        if default is None:
            return NoDefault
        return format_duration(default) if isinstance(default, timedelta) else default

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        node = super().default_schema(schema)
        is_size = any(choice.get("title") == "size" for choice in (node, *node.get("anyOf", ())))
        if is_size and isinstance(node.get("default"), int):
            node["default"] = format_size(node["default"])
        return node


def _with_references(node: Any) -> Any:  # noqa: ANN401 (JSON is anything)
    if isinstance(node, list):
        return [_with_references(item) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("type") in ("integer", "number", "boolean") or "enum" in node:
        said = {key: node[key] for key in ("description", "default") if key in node}
        value = {key: item for key, item in node.items() if key not in said}
        return {**said, "anyOf": [value, _REFERENCE]}
    return {key: _with_references(item) for key, item in node.items()}
