"""Counts the steps that a process reaches, and ends it at one of them."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter


class Watch:
    """A step hook that counts, and ends the process when a step is reached for the n-th time."""

    def __init__(self, fatal: str | None = None, occurrence: int = 1) -> None:
        self.counts: Counter[str] = Counter()
        self._fatal = fatal
        self._occurrence = occurrence
        self._lock = threading.Lock()

    def __call__(self, step: str, /) -> None:
        with self._lock:
            self.counts[step] += 1
            if step == self._fatal and self.counts[step] == self._occurrence:
                os.kill(os.getpid(), signal.SIGKILL)
