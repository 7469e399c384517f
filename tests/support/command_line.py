"""The real command in a process of its own; `run` gets a driver without a JVM.

    python -m tests.support.command_line run pipeline.yaml

is `holdfast run pipeline.yaml`, but for what runs the steps.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def holdfast(
    *arguments: object, directory: Path, timeout: float = 60, environment: dict[str, str] | None = None
) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.cli", *map(str, arguments)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


if __name__ == "__main__":
    from holdfast.cli import main
    from holdfast.testing import LocalProcessor

    main(processor=LocalProcessor)
