"""What README shows, run as a newcomer would."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_runs_and_remembers(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    ends = "\nwith SqliteStore('checkpoints.db') as store: print(store.get(CURSORS).delivered)"
    for batch in (1, 2):
        done = subprocess.run(
            [sys.executable, "-c", example + ends], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == f"{{'archive': {batch}}}"


def test_the_demonstration_ends_with_every_batch_in_every_sink() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "ledger_demo.py")], capture_output=True, text=True, check=True
    )
    assert "exit -9: kill -9" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("run: 3 batches, 2 sinks, 1 kill -9")
