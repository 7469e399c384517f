"""What the exit codes of the commands mean."""

from __future__ import annotations

from enum import IntEnum

from holdfast.cli.interrupts import INTERRUPTED as _INTERRUPTED


class ExitCode(IntEnum):
    """How a command ended, for scripts."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DEGRADED = 3
    NOT_RUNNING = 4
    NOT_READY = 5
    INTERRUPTED = _INTERRUPTED

    @property
    def meaning(self) -> str:
        """What it says, a whole sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    ExitCode.OK: "It was done; for `status`, everything is well.",
    ExitCode.FAILED: "It was refused or failed; the message says why, what was kept, and what to do next.",
    ExitCode.USAGE: "The command line is wrong.",
    ExitCode.DEGRADED: "The pipeline works, and something needs attention.",
    ExitCode.NOT_RUNNING: "No process runs the pipeline.",
    ExitCode.NOT_READY: "The pipeline cannot make progress: something has failed, or it is paused.",
    ExitCode.INTERRUPTED: (
        "Ctrl-C ended the command before it was done. A pipeline that `run` had started by then drains and ends with 0."
    ),
}
