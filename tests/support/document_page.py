"""Writes `docs/reference/document.md` from the models (`python -m tests.support.document_page`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.config.schema import Node, blocks, kinds, resolved, schema_of_values
from holdfast.config.sinks import SinkBlock
from holdfast.config.sources import SourceBlock
from holdfast.config.words import expected

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "document.md"

INTRODUCTION = """\
# The pipeline document

A pipeline as a YAML file: what it reads, what it does, and where it delivers. `holdfast.config.load` reads one,
`Document.plan` gives what is to run, and `compare` says what a change would mean for a pipeline that runs. This page is
made from the models by `make docs`; the same as JSON Schema, for editors, is `holdfast.config.json_schema()`.

```yaml
{example}```

- **Strict.** A key that is not known, a value of another type, a key that stands twice: each is told with file, line,
  column and what to do, all at once. A block without keys is as if it were not there.
- **Words mean what they look like.** Only `true` and `false` are flags, only decimal numbers are numbers; `no` is text.
- **Sizes** are written as `16MiB`, `64MB` or a number of bytes, **durations** as `200ms`, `30s`, `1h30m` or `30d`.
- **From outside** come `${NAME}`, a variable of the environment, and `${file:/path}`, what a file holds; `$${` stands
  for `${` itself. One that is not there is an error. What they stand for is never shown.
- **Relative paths** begin at the folder of the document, wherever a command is started; a link to a document counts by
  where the link lies. Earlier versions began at the working directory: what exists there alone is refused (HF-903).
- **Not built yet**, and refused as unknown: {not_built}; sources of the types {no_sources}; sinks of the types
  {no_sinks}. Checkpoints in memory, or in an object store without a local one, are for Python programs alone.
"""

NOT_BUILT: list[tuple[str | int, ...]] = [
    ("metadata", "tenant"),
    ("spec", "source", "direct"),
    ("spec", "source", "snapshot"),
]
NO_SOURCES = ["postgres", "mysql", "sqlite", "udp", "tcp"]
NO_SINKS = ["kafka", "redis", "nats", "mysql", "iceberg", "delta", "s3"]
"""What the design has and a document cannot say; a test sees that it is so."""

SHARED = {
    "spec.sources[]": (SourceBlock, "A place that events come from. Each has these keys, and those of its `type`."),
    "spec.sinks[]": (SinkBlock, "A place that rows go to. Each has these keys, and those of its `type`."),
}
"""What all kinds of an item have in common."""


def document_page() -> str:
    """The page: a table for each block."""
    parts = [_introduction()]
    told: set[str] = set()
    for path, block in _in_order():
        item, _, kind = path.partition(" ")
        shared, introduction = SHARED.get(item, (None, ""))
        common = [key for key in shared.model_fields if key != "type"] if shared else []
        if shared and item not in told:
            parts += [f"## `{item}`\n", f"{introduction}\n", *_table(block, common)]
        heading = f"### `type: {kind[1:-1]}`" if kind else f"## `{path}`" if path else "## The document"
        own = [key for key in block["properties"] if key not in ("type" if kind else "", *common)]
        parts += [f"{heading}\n", f"{_about(block)}\n", *_table(block, own)]
        told.add(item)
    return "\n".join(parts)


def _introduction() -> str:
    texts = {
        "example": (ROOT / "examples" / "orders.yaml").read_text(),
        "not_built": _listed(".".join(map(str, path)) for path in NOT_BUILT),
        "no_sources": _listed(NO_SOURCES),
        "no_sinks": _listed(NO_SINKS),
    }
    text = INTRODUCTION
    for name, value in texts.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _listed(words: Iterable[str]) -> str:
    *others, last = (f"`{word}`" for word in words)
    return f"{', '.join(others)} and {last}"


def _in_order() -> list[tuple[str, Node]]:
    """Every block once, those below a list behind all kinds of its items; `source` is as an item of `sources`."""
    found = {path: block for path, block in blocks() if not path.startswith(("spec.source ", "spec.source."))}
    sections = [path.split("[]")[0] for path in found]
    return sorted(found.items(), key=lambda entry: (sections.index(entry[0].split("[]")[0]), "[]." in entry[0]))


def _about(block: Node) -> str:
    defined = schema_of_values()["$defs"].get(block["title"], block)
    return _line(defined["description"])


def _table(block: Node, keys: Iterable[str]) -> Iterator[str]:
    yield from ("| key | what it must be | default | |", "|---|---|---|---|")
    for key in keys:
        node = resolved(block["properties"][key])
        yield f"| `{key}` | {_kind(node)} | {_default(block, key, node)} | {_line(node['description'])} |"
    yield ""


def _kind(node: Node) -> str:
    items = resolved(node.get("items", {}))
    if kinds(node) or "properties" in node:
        return "a block, below"
    if kinds(items) or "properties" in items:
        return "a list of blocks, below"
    if "items" in node:
        return f"a list, each {expected(items)}"
    return expected(node).replace("|", "\\|")


def _default(block: Node, key: str, node: Node) -> str:
    if key in block.get("required", ()):
        return "**needed**"
    default = node.get("default")
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`" if default not in (None, "") else ""


def _line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    DOCUMENT.write_text(document_page())
