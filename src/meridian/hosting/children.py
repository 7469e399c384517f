"""Processes that this one starts and that end with it, also when it is killed."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_DRAIN_SECONDS = 6.0


class Child:
    """A Python module that runs as a process of its own; what it says goes to a file."""

    def __init__(self, module: str, arguments: Sequence[str], log: Path) -> None:
        self.name = module
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def stop(self) -> int:
        """Let it end in order, for as long as that may take; the exit code."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            return self._process.wait(_DRAIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def stopped_last(stack: ExitStack, child: Child) -> Child:
    """The child, which is stopped when the stack is closed."""
    stack.callback(child.stop)
    return child


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
