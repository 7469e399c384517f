"""The program of the guide to `holdfast.flow` runs as it stands, and says what the page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.pages import blocks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guides" / "flow.md"


def test_the_program_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    program, shown = (block.text for block in blocks(PAGE.read_text()) if block.kind in ("python", "text"))
    file = tmp_path / "page.py"
    file.write_text(program)
    run = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == shown.strip()
