"""Says what the strict models found wrong: where it stands in the document, what it is, and the remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from holdfast.config.problems import Path, Problem, dotted, nearest
from holdfast.config.schema import Node, blocks, kinds, resolved, schema_of_values
from holdfast.config.syntax import Tree
from holdfast.config.words import addition, expected, remedy

_MOST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _Finding:
    """An error of pydantic, the path it means, and the schema there; for an unknown key that of its block."""

    kind: str
    path: Path
    node: Node
    context: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What the value is called."""
        return str(self.path[-1]) if self.path else ""

    @property
    def before(self) -> str:
        """What stands before the value."""
        return f"{self.key}:" if self.path and isinstance(self.path[-1], str) else "-"

    @property
    def block(self) -> str:
        """What the key stands in."""
        return f"`{dotted(self.path[:-1])}`" if self.path[:-1] else "The document"


def explained(error: ValidationError, tree: Tree) -> Iterator[Problem]:
    """The problems, one for each value."""
    details = error.errors(include_url=False, include_input=False)
    findings = {finding.path: finding for finding in (_finding(detail, tree) for detail in details)}
    misspelled = {
        (*finding.path[:-1], nearest(finding.key, finding.node["properties"]))
        for finding in findings.values()
        if finding.kind == "extra_forbidden"
    }
    for finding in findings.values():
        if finding.kind != "missing" or finding.path not in misspelled:
            spot = tree.spot(finding.path)
            place = spot.key if spot.key and finding.kind in ("extra_forbidden", "bad_key") else spot.place
            yield Problem(place, *_words(finding, tree), finding.path)


def _finding(detail: Mapping[str, Any], tree: Tree) -> _Finding:
    kind, loc = detail["type"], detail["loc"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _of_type(kind, *_follow(loc), tree)
    if loc and loc[-1] == "[key]":
        path, node = _follow(loc[:-1])
        return _Finding("bad_key", path, node, detail.get("ctx", {}))
    return _Finding(kind, *_follow(loc), detail.get("ctx", {}))


def _of_type(kind: str, path: Path, node: Node, tree: Tree) -> _Finding:
    """The `type` of a block is none that is known, or it is not there, perhaps because it is misspelled."""
    type_ = {"type": "string", "enum": list(kinds(node))}
    block = _given(tree, path)
    if not isinstance(block, dict):
        return _Finding("model_type", path, node)
    written = nearest("type", block)
    if kind == "union_tag_invalid" or written == "type":
        return _Finding("union_tag_invalid", (*path, "type"), type_)
    if written is None:
        return _Finding("missing", (*path, "type"), type_)
    return _Finding("extra_forbidden", (*path, written), {"properties": {"type": type_}})


def _follow(loc: Path) -> tuple[Path, Node]:
    """From what pydantic calls a place, which also names the kinds it chose, to the path and its schema."""
    path: Path = ()
    node: Node = schema_of_values()
    for part in loc:
        node = resolved(node)
        if part in kinds(node):
            node = kinds(node)[str(part)]
            continue
        below = _below(node, part)
        if below is None and "properties" not in node:
            break
        path = (*path, part)
        if below is None:
            break
        node = below
    return path, resolved(node)


def _below(node: Node, part: str | int) -> Node | None:
    if isinstance(part, int):
        return node.get("items")
    if part in node.get("properties", {}):
        return dict(node["properties"][part])
    values = [node.get("additionalProperties"), *node.get("patternProperties", {}).values()]
    return next((value for value in values if isinstance(value, dict)), None)


def _words(finding: _Finding, tree: Tree) -> tuple[str, str]:
    """What it is, and the remedy."""
    match finding.kind:
        case "refused":
            return tree.redacted(finding.context["what"]), tree.redacted(finding.context["remedy"])
        case "missing":
            return f"{finding.block} has no `{finding.key}`.", addition(finding.key, finding.node)
        case "extra_forbidden":
            return f"{finding.block} knows no `{finding.key}`.", _instead(finding.key, finding.node)
        case "bad_key":
            fits = finding.context.get("pattern", "a word")
            return f"`{finding.key}` cannot be a key of {finding.block}.", f"Write one that fits `{fits}`."
    name = f"`{dotted(finding.path)}`" if finding.path else "The document"
    given = _given(tree, finding.path)
    return (
        f"{name} must be {expected(finding.node)}, not {_shown(given, finding, tree)}.",
        remedy(finding.before, finding.node, given),
    )


def _instead(key: str, block: Node) -> str:
    """Where a key that is not known here belongs, or which was meant."""
    meant = nearest(key, block["properties"])
    homes = dict.fromkeys(f"`{path}`" for path, other in blocks() if key in other["properties"])
    hints = [f"Did you mean `{meant}`?"] if meant else []
    hints += [f"It is a key of {' and '.join(homes)}."] if homes else []
    return " ".join(hints) or f"Its keys are {', '.join(block['properties'])}."


def _given(tree: Tree, path: Path) -> object:
    value: Any = tree.root
    for part in path:
        value = value[part]
    return value


def _shown(given: object, finding: _Finding, tree: Tree) -> str:
    """The value as it is written, never what a reference in it stands for, and nothing of a secret."""
    if given is None:
        return "nothing"
    if isinstance(given, dict | list):
        return "a block of keys" if isinstance(given, dict) else "a list" if given else "an empty list"
    if finding.node.get("writeOnly"):
        return "what is written there"
    written = tree.spot(finding.path).written or ""
    clipped = written if len(written) <= _MOST_SHOWN else f"{written[:_MOST_SHOWN]}…"
    if isinstance(given, str):
        return f"the text `{clipped}`" if clipped else "an empty text"
    return f"`{clipped}`"
