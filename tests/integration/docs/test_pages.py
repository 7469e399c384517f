"""Pages of the docs, run as a newcomer would: their commands in a shell, with the real command line.

Pages that are about Spark run in Spark; for the others the steps are run by a driver without a JVM.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.support.keeper import free_port
from tests.support.pages import ROOT, run_text

DOCS = ROOT / "docs"
PATIENCE = 280.0
"""Seconds for a page; a machine with nothing else to do needs a fifth of that."""

pytestmark = pytest.mark.timeout(PATIENCE + 20)
SHIM = """\
#!/bin/sh
exec "{python}" -m tests.support.command_line "$@"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    return place


def environment(*first: Path) -> dict[str, str]:
    """Where `holdfast` and `python` are those of these tests."""
    scripts = Path(sys.executable).parent
    path = os.pathsep.join(map(str, [*first, scripts, os.environ["PATH"]]))
    modules = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": modules, "NO_COLOR": "1"}


@pytest.mark.parametrize("page", ["tutorial.md", "guides/replay-dead-letters.md", "guides/move-to-a-cluster.md"])
def test_a_page_runs_in_spark(page: str, place: Path) -> None:
    text = (DOCS / page).read_text().replace("7077", str(free_port()))
    run_text(text, place, environment=environment(), timeout=PATIENCE)


@pytest.mark.parametrize("page", ["guides/add-a-sink.md", "guides/upgrade.md"])
def test_a_page_runs_without_spark(page: str, place: Path, tmp_path: Path) -> None:
    shim = tmp_path / "bin" / "holdfast"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(python=sys.executable))
    shim.chmod(0o755)
    run_text((DOCS / page).read_text(), place, environment=environment(shim.parent), timeout=PATIENCE)
