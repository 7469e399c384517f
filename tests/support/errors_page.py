"""Writes `docs/reference/errors.md` from the error tree and from where errors are raised.

python -m tests.support.errors_page
"""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from holdfast.model.errors import HoldfastError, error_types

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
ERRORS = ROOT / "docs" / "reference" / "errors.md"

INTRODUCTION = """\
# Error codes, and what to do

Every error that Holdfast (`HF-…`), or Meridian on top of it (`MD-…`), raises on purpose has a code that never changes
its meaning, says what happened, what was kept, and what to do next. Below each code stands when it comes and everything
that it may tell you to do; the message itself has the one that fits, with names and numbers where `…` stands here. This
page is made from the code by `make docs`.

What a pipeline does about it by itself, and what wakes somebody: [alarms](../operations/alarms.md). To look closer:
`holdfast status` for what is not well now, `holdfast doctor` for what is wrong on disk, `holdfast dlq review` for rows
that were given up.
"""

NOT_RAISED_BY_US = {
    "Throttled": "Nothing: the batch is sent again when the sink said. If it goes on, give the sink more room.",
    "Poison": "See the rows with `holdfast dlq list`; mend the step or the sink, then `holdfast dlq reprocess`.",
    "RowFailed": "See the rows with `holdfast dlq list`; mend the step, then `holdfast dlq reprocess` them.",
}
"""What to do about errors that sources, sinks and steps raise, and those that only name the kind of a dead letter."""


def errors_page() -> str:
    """The page: a section for each branch of the tree, and in it one for each code."""
    _load_the_errors_of_the_application()
    remedies = {name: [text] for name, text in NOT_RAISED_BY_US.items()} | told_remedies()
    page = [INTRODUCTION]
    for branch in sorted(HoldfastError.__subclasses__(), key=lambda branch: branch.__module__):
        leaves = [branch, *error_types(branch)] if "code" in vars(branch) else list(error_types(branch))
        page += [f"## {branch.__name__}\n", f"{_sentence(branch)}\n"]
        for error in (leaf for leaf in leaves if "code" in vars(leaf)):
            page += [f"### {error.code} {error.__name__}\n", f"{_sentence(error)}\n"]
            page += [*(f"- {remedy}" for remedy in remedies[error.__name__]), ""]
    return "\n".join(page)


def _load_the_errors_of_the_application() -> None:
    for path in sorted((SOURCE / "meridian").rglob("errors.py")):
        importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))


def told_remedies() -> dict[str, list[str]]:
    """What each error tells to do, by its class: every `remedy` that the sources give it, in their order."""
    found: dict[str, list[str]] = defaultdict(list)
    names = {error.__name__ for error in error_types()}
    for path in sorted(SOURCE.rglob("*.py")):
        for name, remedy in _calls(ast.parse(path.read_text())):
            if name in names and remedy not in found[name]:
                found[name].append(remedy)
    return {name: remedies for name, remedies in found.items() if remedies}


def _calls(module: ast.Module) -> Iterator[tuple[str, str]]:
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for keyword in node.keywords:
                value = keyword.value
                given = constants.get(value.id, value) if isinstance(value, ast.Name) else value
                text = _text(given) if keyword.arg == "remedy" else None
                if text:
                    yield node.func.id, text


def _text(node: ast.expr) -> str | None:
    """A text as it is written, with `…` for what is put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return None


def _sentence(error: type[HoldfastError]) -> str:
    return " ".join((error.__doc__ or "").split())


if __name__ == "__main__":
    ERRORS.write_text(errors_page())
