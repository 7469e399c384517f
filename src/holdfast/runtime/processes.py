"""A process on this host, told apart from a later one that was given the same number."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

_TICK = 0.02


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process id, and when that process started in the kernel's ticks since boot."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> Self:
        """The process that has this number now."""
        return cls(pid, _started(pid) or "")

    @property
    def lives(self) -> bool:
        """Whether that very process still runs."""
        return _started(self.pid) == self.started

    @property
    def is_stopped(self) -> bool:
        """Whether that very process lives, but was stopped by a signal or a debugger."""
        return self.lives and _state(self.pid) in {"T", "t"}

    def kill(self) -> None:
        """SIGKILL to the process, and to its whole group when it leads one."""
        with suppress(ProcessLookupError):
            if self.lives and os.getpgid(self.pid) == self.pid:
                os.killpg(self.pid, signal.SIGKILL)
            elif self.lives:
                os.kill(self.pid, signal.SIGKILL)


def kill_all(processes: Iterable[ProcessId], *, patience: float) -> bool:
    """Kill these processes and their groups; whether all were gone within so many seconds."""
    left = [process for process in processes if process.lives]
    for process in left:
        process.kill()
    deadline = time.monotonic() + patience
    while any(process.lives for process in left):
        if time.monotonic() > deadline:
            return False
        time.sleep(_TICK)
    return True


def _started(pid: int) -> str | None:
    """When the process started; None when there is no such process, or only its exit status is left."""
    stat = _stat(pid)
    return None if stat is None or stat[0] in "ZX" else stat[19]


def _state(pid: int) -> str | None:
    """The letter by which the kernel says what the process does."""
    stat = _stat(pid)
    return None if stat is None else stat[0]


def _stat(pid: int) -> list[str] | None:
    """What the kernel says of a process, behind its name; None when there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()
