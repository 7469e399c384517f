"""Orbits are propagated in Spark's workers, and never in the process that takes observations in."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SENSORS = Path(__file__).resolve().parents[2] / "src" / "meridian" / "sensors"
SIMULATED = SENSORS / "simulate"
"""Sensors that are not there; they run in a process of their own."""
PROPAGATORS = ("sgp4", "meridian.orbit", "meridian.fusion", "meridian.sensors.simulate")


def imported(path: Path) -> set[str]:
    """Everything a module imports anywhere, also inside of functions."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.req("RET-10")
def test_no_module_of_the_edge_imports_what_propagates() -> None:
    for path in sorted(set(SENSORS.rglob("*.py")) - set(SIMULATED.rglob("*.py"))):
        wrong = [name for name in imported(path) if name.startswith(PROPAGATORS)]
        assert not wrong, f"{path.name} imports {wrong}"


@pytest.mark.req("RET-10")
def test_the_process_of_the_edge_loads_nothing_that_propagates() -> None:
    code = "import sys, meridian.sensors.__main__, meridian.sensors.edge, meridian.sensors.station; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "meridian.sensors.station" in loaded
    assert not [name for name in loaded if name.startswith(PROPAGATORS)]
