"""`holdfast run` as a person starts it: a job of a shell, which leads the session."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from holdfast.runtime.processes import ProcessId
from tests.support.command_line import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_JOB = 'set -m; "$@" & echo $! > run.pid; wait $!'
"""With job control the job has a process group of its own, as in a terminal."""


class Command:
    """One life of the command. What it prints goes to `run.log`."""

    def __init__(self, directory: Path) -> None:
        numbered = directory / "run.pid"
        numbered.unlink(missing_ok=True)
        with (directory / "run.log").open("ab") as output:
            self._shell = subprocess.Popen(
                ["bash", "-c", _JOB, "bash", sys.executable, "-m", "holdfast.cli", "run", "--output", "json"],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        while not (numbered.exists() and (text := numbered.read_text()).endswith("\n")):
            assert self._shell.poll() is None, "the shell ended at once"
            time.sleep(0.005)
        self._process = ProcessId.of(int(text))

    @property
    def pid(self) -> int:
        """The number of the process that runs the pipeline."""
        return self._process.pid

    @property
    def session(self) -> int:
        """The number of the shell, and so of the session."""
        return self._shell.pid

    @property
    def is_running(self) -> bool:
        """Whether that very process still runs."""
        return self._process.lives

    def wait_dead(self) -> None:
        """After a kill."""
        deadline = time.monotonic() + 30
        while self.is_running:
            assert time.monotonic() < deadline, "the process outlived SIGKILL"
            time.sleep(0.01)
        self._shell.wait(30)

    def stop(self) -> int:
        """Drain it; its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self._shell.wait(120)

    def kill(self) -> None:
        """End it, whatever became of the campaign; what it started notices and ends too."""
        if self.is_running:
            os.kill(self.pid, signal.SIGKILL)
        self._shell.kill()
        self._shell.wait()
