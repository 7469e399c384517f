"""The demonstration of the ledger alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demonstration_ends_with_every_batch_in_every_sink() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "ledger_demo.py")], capture_output=True, text=True, check=True
    )
    assert "exit -9: kill -9" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("run: 3 batches, 2 sinks, 1 kill -9")
