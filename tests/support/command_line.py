"""The real command in a process of its own; `run` gets a driver without a JVM.

    python -m tests.support.command_line run pipeline.yaml

is `holdfast run pipeline.yaml`, but for what runs the steps.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  directory: pipeline
  source: {type: generator, name: orders, transactions: [3, 7, 1], pace: {rate: 500}}
  batch: {max_events: 100, max_ms: 20}
  sinks:
    - {name: archive, type: files, directory: files, required: false}
    - name: table
      type: sqlite
      path: sink.db
      table: orders
      retry: {base: 20ms, cap: 50ms, attempts: 2}
      breaker: {window: 4, minimum: 2, cool_down: 200ms}
"""


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
    *arguments: object,
    directory: Path,
    timeout: float = 100,
    environment: dict[str, str] | None = None,
    stdin: str | None = "",
) -> Ended:
    """Run a command to its end.

    :param stdin: what comes through its standard input; None closes it.
    """
    close = [] if stdin is not None else ["sh", "-c", 'exec "$@" <&-', "sh"]
    done = subprocess.run(
        [*close, sys.executable, "-m", "holdfast.cli", *map(str, arguments)],
        cwd=directory,
        env=environment,
        input=stdin or "",
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class Running:
    """A pipeline that a process runs; its JSON lines are read as they come."""

    def __init__(self, process: subprocess.Popen[str], directory: Path) -> None:
        self.process = process
        self.directory = directory
        self.started = self.line()

    def line(self) -> Any:
        """The next line that it says."""
        assert self.process.stdout is not None
        text = self.process.stdout.readline()
        assert text, f"it ended with {self.process.wait(10)}"
        return json.loads(text)

    def ask(self, *arguments: object) -> Ended:
        """Run a command about it, with JSON."""
        return holdfast(*arguments, "--output", "json", directory=self.directory)

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def end(self, timeout: float = 30) -> tuple[int, list[Any]]:
        """Wait for its end: the exit code, and what it said last."""
        out, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]


@contextmanager
def running(
    directory: Path, *options: object, text: str = DOCUMENT, working_directory: Path | None = None
) -> Iterator[Running]:
    """`holdfast run` on a document in this directory, killed at the end if it still runs.

    :param working_directory: where it is started; in the directory of the document without one.
    """
    named = [] if working_directory is None else [directory / "pipeline.yaml"]
    (directory / "pipeline.yaml").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.command_line", "run", "--output", "json", *map(str, [*named, *options])],
        cwd=working_directory or directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Running(process, directory)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_until(holds: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition, and fail when it does not come."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)


if __name__ == "__main__":
    from holdfast.cli import main
    from holdfast.testing import LocalProcessor
    from tests.support.crash.orders import orders

    main(processor=lambda: LocalProcessor(orders))
