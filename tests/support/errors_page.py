"""Writes `docs/reference/errors.md` from the error tree (`python -m tests.support.errors_page`)."""

from __future__ import annotations

from pathlib import Path

from holdfast.model.errors import HoldfastError, error_types

ERRORS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "errors.md"

INTRODUCTION = """\
# Error codes

Every error that Holdfast raises on purpose has a code that never changes its meaning, says what happened, what was
kept, and what to do next. This page is made from the code by `make docs`.
"""


def errors_page() -> str:
    """The page: a table for each branch of the tree."""
    page = [INTRODUCTION]
    for branch in HoldfastError.__subclasses__():
        leaves = [branch, *error_types(branch)] if "code" in vars(branch) else list(error_types(branch))
        page += [f"## {branch.__name__}\n", f"{_sentence(branch)}\n", "| code | error | when |", "|---|---|---|"]
        page += [f"| {error.code} | `{error.__name__}` | {_sentence(error)} |" for error in leaves]
        page.append("")
    return "\n".join(page)


def _sentence(error: type[HoldfastError]) -> str:
    return " ".join((error.__doc__ or "").split())


if __name__ == "__main__":
    ERRORS.write_text(errors_page())
