"""What runs in Spark's workers opens no index."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import holdfast

SOURCE = Path(holdfast.__file__).parents[1]
WORKER = {
    *(f"holdfast.log.{name}" for name in ("parts", "segment", "values", "disk", "oserrors")),
    *(f"holdfast.disk.{name}" for name in ("files", "trouble")),
}


@pytest.mark.parametrize("module", sorted(WORKER))
def test_no_index_is_within_reach_of_a_worker(module: str) -> None:
    path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
    imported = {
        name
        for node in ast.walk(ast.parse(path.read_text()))
        for name in _names(node)
        if name.startswith(("sqlite3", "holdfast.log", "holdfast.disk"))
    }
    assert imported <= WORKER


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
