"""What runs in Spark's workers opens no index."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from holdfast import log

SOURCE = Path(log.__file__).parent


@pytest.mark.parametrize("module", ["parts", "segment", "values", "disk", "oserrors"])
def test_no_index_is_within_reach_of_a_worker(module: str) -> None:
    imported = {
        name
        for node in ast.walk(ast.parse((SOURCE / f"{module}.py").read_text()))
        for name in _names(node)
        if name.startswith(("sqlite3", "holdfast.log."))
    }
    assert imported <= {f"holdfast.log.{name}" for name in ("parts", "segment", "values", "disk", "oserrors")}


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []
