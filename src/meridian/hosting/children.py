"""Processes that this one starts, that it starts again when they end, and that end with it, also when it is killed.

The kernel ends a process together with the thread that started it. So each has a thread of its own, which starts it,
waits for its end, and does nothing else.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

log = logging.getLogger(__name__)

REFUSED = 2
"""The exit code of who could not start, and would not the next time."""
_PR_SET_PDEATHSIG = 1
_DRAIN_SECONDS = 6.0
_PAUSE_SECONDS = 1.0
_SHORT_SECONDS = 60.0
_SHORT_LIVES = 20
"""After so many in a row it is given up."""


class Child:
    """A Python module that runs as a process of its own until `stop`; what it says goes to a file."""

    def __init__(self, module: str, arguments: Sequence[str], log: Path) -> None:
        self.name = module
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        self._command = [sys.executable, "-m", module, *arguments]
        self._over = Event()
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper = Thread(target=self._keep, name=module, daemon=True)
        self._keeper.start()

    @property
    def is_kept(self) -> bool:
        """Whether it runs, or is about to; False when it was stopped or given up."""
        return self._keeper.is_alive()

    @property
    def pid(self) -> int | None:
        """Of the process that runs, or ran last."""
        return None if self._process is None else self._process.pid

    @property
    def last_line(self) -> str:
        """What it said last."""
        lines = self.log.read_text(errors="replace").splitlines()
        return lines[-1] if lines else "it says nothing."

    def stop(self) -> None:
        """Let it end in order, for as long as that may take, and end it then."""
        self._over.set()
        self._send(signal.SIGTERM)
        self._keeper.join(_DRAIN_SECONDS)
        self._send(signal.SIGKILL)
        self._keeper.join()

    def _send(self, number: signal.Signals) -> None:
        with self._lock, suppress(ProcessLookupError):
            if self._process is not None:
                self._process.send_signal(number)

    def _keep(self) -> None:
        short_lives = 0
        while short_lives < _SHORT_LIVES:
            began, process = time.monotonic(), self._started()
            code = process and process.wait()
            if self._over.is_set() or code == REFUSED:
                return
            short_lives = short_lives + 1 if time.monotonic() < began + _SHORT_SECONDS else 0
            log.error("%s ended with %s and is started again: %s", self.name, code, self.last_line)
            self._over.wait(_PAUSE_SECONDS)

    def _started(self) -> subprocess.Popen[bytes] | None:
        libc, parent = ctypes.CDLL(None), os.getpid()

        def end_with_parent() -> None:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(REFUSED)

        with self._lock, self.log.open("ab") as said:
            if not self._over.is_set():
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=said,
                    start_new_session=True,
                    preexec_fn=end_with_parent,
                )
            return self._process
