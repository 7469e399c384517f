"""YAML as plain values, each with its place. Knows nothing of pipelines.

PyYAML composes the nodes, because it keeps the line and the column of each; what a node means is decided here, and is
less than YAML allows: a plain word is text unless it is `true`, `false`, `null` or a decimal number (so `no` and `1:30`
are text), keys are words and stand once, tags mean nothing, and an alias cannot blow a small text up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml
from yaml.composer import ComposerError
from yaml.reader import ReaderError

from holdfast.config.problems import Path, Place, Problem, dotted
from holdfast.config.references import Expanded, Unresolved, expand

Value = dict[str, "Value"] | list["Value"] | str | int | float | bool | None

_MOST_VALUES = 10_000
_DEEPEST = 32
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15}(?:[eE][-+]?[0-9]{1,2})?|[eE][-+]?[0-9]{1,2})")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value stands, and how it is written there."""

    place: Place
    key: Place | None = None
    """Where its key stands; None for an item of a list."""
    written: str | None = None
    """The text of a scalar, before anything in it was resolved."""


@dataclass(slots=True)
class Tree:
    """The values of a text, where each stands, and what is wrong with the text itself."""

    file: str
    root: Value = None
    spots: dict[Path, Spot] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    text: str = field(default="", repr=False)
    """The whole of it, as it was written."""
    outside: dict[str, str] = field(default_factory=dict, repr=False)
    """Texts that came from outside, and how each is written."""

    def redacted(self, text: str) -> str:
        """A text that may quote values, with those from outside as they are written."""
        for value in sorted(self.outside, key=len, reverse=True):
            text = text.replace(value, self.outside[value])
        return text

    def text_from(self, place: Place) -> str:
        """The text from a place on."""
        lines = self.text.splitlines(keepends=True)[place.line - 1 :]
        return "".join(lines)[place.column - 1 :]

    def spot(self, path: Path) -> Spot:
        """Where a value stands, or the nearest around it that is there."""
        while path and path not in self.spots:
            path = path[:-1]
        return self.spots.get(path, Spot(Place(self.file)))


def parse(text: str, file: str, environment: Mapping[str, str]) -> Tree:
    """The tree of a text. Raises nothing for what is wrong in it: that is among its problems."""
    tree = Tree(file, text=text)
    try:
        loader = _Loader(text)
    except ReaderError as error:
        tree.problems.append(_unprintable(text, file, error))
        return tree
    try:
        root = loader.get_single_node()
        if root is None:
            tree.problems.append(Problem(Place(file), "There is nothing in it.", "Begin with `apiVersion`."))
        else:
            tree.root = _Growing(tree, environment).value_of(root, (), None)
    except ReaderError as error:
        tree.problems.append(_unprintable(text, file, error))
    except yaml.MarkedYAMLError as error:
        tree.problems.append(_not_yaml(text, file, error))
    except (ValueError, OverflowError):  # PyYAML makes numbers of some texts without a look at them
        place = place_of(text, min(loader.index, len(text)), file)
        what = "YAML: an escape names no character, or the version of YAML is no number."
        tree.problems.append(Problem(place, what, "Correct what stands before this place."))
    return tree


def plain(text: str) -> Value:
    """What a word without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def place_of(text: str, index: int, file: str) -> Place:
    """The place of a character."""
    line_start = text.rfind("\n", 0, index) + 1
    return Place(file, text.count("\n", 0, index) + 1, index - line_start + 1)


class _Loader(yaml.SafeLoader):  # type: ignore[misc] # PyYAML has no types
    """Composes nodes without giving them meaning: the tag of a node is what was written, or nothing."""

    depth = 0

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        return ""

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ComposerError(None, None, f"more than {_DEEPEST} levels are nested", self.peek_event().start_mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


class _Growing:
    """Turns nodes into values and spots. An alias stands for a value of its own wherever it is used."""

    def __init__(self, tree: Tree, environment: Mapping[str, str]) -> None:
        self._tree = tree
        self._environment = environment
        self._above: list[yaml.Node] = []

    def value_of(self, node: yaml.Node, path: Path, key: Place | None) -> Value:
        if len(self._tree.spots) >= _MOST_VALUES:
            raise ComposerError(None, None, f"there are more than {_MOST_VALUES} values", node.start_mark)
        if any(node is other for other in self._above):
            raise ComposerError(None, None, "an alias stands for something that it is a part of", node.start_mark)
        written = node.value if isinstance(node, yaml.ScalarNode) else None
        self._tree.spots[path] = Spot(self._place(node), key, written)
        if node.tag:
            self._problem(node, path, f"`{node.tag}` is a tag, and tags mean nothing here.", "Remove it.")
        self._above.append(node)
        value = self._content(node, path)
        self._above.pop()
        return value

    def _content(self, node: yaml.Node, path: Path) -> Value:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value_of(item, (*path, number), None) for number, item in enumerate(node.value)]
        try:
            text = expand(node.value, self._environment)
        except Unresolved as reason:
            self._problem(node, path, reason.what, reason.remedy)
            return None
        if isinstance(text, Expanded):
            if isinstance(plain(text), str):
                self._tree.outside[str(text)] = node.value
            return text
        return plain(text) if node.style is None else text

    def _mapping(self, node: yaml.MappingNode, path: Path) -> Value:
        found: dict[str, Value] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._problem(key, None, "A list or a block cannot be a key.", "Write a word before the colon.")
                continue
            here = (*path, key.value)
            if key.value in found:
                first = self._tree.spots[here].key
                what = f"`{dotted(here)}` is there twice, first in line {first.line if first else 1}."
                self._problem(key, None, what, "Remove one of the two.")
                continue
            found[key.value] = self.value_of(item, here, self._place(key))
        return found

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._tree.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def _problem(self, node: yaml.Node, path: Path | None, what: str, remedy: str) -> None:
        self._tree.problems.append(Problem(self._place(node), what, remedy, path))


def _unprintable(text: str, file: str, error: ReaderError) -> Problem:
    place = place_of(text, error.position, file)
    return Problem(place, f"The character U+{ord(text[error.position]):04X} is not allowed in YAML.", "Remove it.")


_REMEDIES = (
    ("\\t", "Indent with spaces instead of tabs."),
    ("single document", "Put each pipeline into a file of its own."),
    ("undefined alias", "Write the value out, or name an anchor that stands before."),
    ("alias", "Write the value out."),
    ("more than", "Write a smaller document."),
)


def _not_yaml(text: str, file: str, error: yaml.MarkedYAMLError) -> Problem:
    says = " ".join(part for part in (error.context, error.problem) if part)
    remedy = next(
        (remedy for sign, remedy in _REMEDIES if sign in says), "Look at quotes, colons and indentation here."
    )
    marks = [mark for mark in (error.problem_mark, error.context_mark) if mark and mark.index < len(text.rstrip())]
    place = place_of(text, marks[0].index, file) if marks else Place(file)  # YAML has more line breaks than editors
    return Problem(place, f"YAML: {says}.", remedy)
