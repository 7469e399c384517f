"""What README shows, run as a newcomer would."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.timeout(200)
def test_the_example_runs_and_runs_again(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    for _ in range(2):
        subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True)
        with sqlite3.connect(tmp_path / "orders.db") as db:
            assert db.execute("SELECT count(*), count(DISTINCT n) FROM orders").fetchone() == (45_000, 45_000)
