"""Imports point downward only, the ledger is pure, and heavy clients are not loaded before they are needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "holdfast"

ALLOWED: dict[str, frozenset[str]] = {
    "model": frozenset(),
    "disk": frozenset(),
    "clients": frozenset({"model"}),
    "ledger": frozenset({"model"}),
    "log": frozenset({"model", "disk"}),
    "process": frozenset({"model"}),
    "flow": frozenset({"model"}),
    "checkpoint": frozenset({"model", "disk", "clients", "ledger", "flow"}),
    "capture": frozenset({"model", "disk", "clients", "log"}),
    "deliver": frozenset({"model", "disk", "ledger", "log", "flow", "checkpoint"}),
    "sinks": frozenset({"model", "disk", "clients", "deliver"}),
    "runtime": frozenset({"model", "disk", "ledger", "log", "process", "flow", "checkpoint", "capture", "deliver"}),
    "config": frozenset({"model", "ledger", "log", "process", "flow", "capture", "deliver", "sinks", "runtime"}),
    "control": frozenset(
        {"model", "disk", "ledger", "log", "process", "flow", "checkpoint", "capture", "deliver", "runtime", "config"}
    ),
    "cli": frozenset({"model", "disk", "checkpoint", "runtime", "config", "control"}),
    "testing": frozenset({"model", "ledger", "log", "process", "checkpoint", "capture", "deliver", "runtime"}),
}
"""For each package, the packages of ours that it may import, besides itself."""

MERIDIAN: dict[str, frozenset[str]] = {
    "orbit": frozenset(),
    "sensors": frozenset({"documents", "orbit"}),
    "fusion": frozenset({"orbit", "sensors"}),
    "operation": frozenset({"documents", "orbit", "sensors", "fusion"}),
    "service": frozenset({"orbit", "sensors", "fusion", "operation"}),
    "screen": frozenset({"orbit", "fusion", "service"}),
    "plots": frozenset({"orbit", "service"}),
    "hosting": frozenset({"orbit", "sensors", "fusion", "operation", "service"}),
    "cli": frozenset({"orbit", "sensors", "fusion", "operation", "service", "screen", "plots", "hosting"}),
}
"""The same for the application, which may use all that Holdfast exports."""

PURE = frozenset(
    {"__future__", "abc", "collections", "collections.abc", "dataclasses", "enum", "itertools", "json", "typing"}
)
"""What the ledger may import of the standard library: no file, clock, thread, process or randomness."""


def imported_modules(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return names


def modules_of(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


def test_every_package_has_a_rule() -> None:
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert packages == set(ALLOWED)


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_downward(package: str) -> None:
    for path in modules_of(package):
        for name in imported_modules(path):
            if name.startswith("holdfast."):
                assert name.split(".")[1] in ALLOWED[package] | {package}, f"{path.name} imports {name}"


def test_holdfast_does_not_know_the_application() -> None:
    for path in SOURCE.rglob("*.py"):
        assert not [name for name in imported_modules(path) if name.split(".")[0] == "meridian"], path


@pytest.mark.parametrize("package", MERIDIAN)
def test_imports_of_the_application_point_downward(package: str) -> None:
    for path in sorted((SOURCE.parent / "meridian" / package).rglob("*.py")):
        for name in imported_modules(path):
            if name.startswith("meridian.") and name.count(".") > 1:
                assert name.split(".")[1] in MERIDIAN[package] | {package}, f"{path.name} imports {name}"


def test_the_ledger_is_pure() -> None:
    for path in modules_of("ledger"):
        imported = set(imported_modules(path))
        foreign = {name for name in imported if not name.startswith("holdfast.")} - PURE
        assert not foreign, f"{path.name} imports {foreign}"
        assert "holdfast.model.clock" not in imported, f"{path.name} reads a clock"


def test_no_client_library_is_loaded_by_importing_us() -> None:
    modules = ["holdfast", "holdfast.ledger", "holdfast.checkpoint", "holdfast.config"]
    clients = ("psycopg", "obstore", "moto", "pyspark")
    code = f"import sys, {', '.join(modules)}; print([m for m in {clients} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
