"""What Spark's JVM, its Python workers and the worker server print: into a log file of bounded size, not the terminal.

The newest lines are also kept in memory, so that an error of the start can quote its reason.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from pathlib import Path

from holdfast.disk.log_file import LogFile

MAX_BYTES = 4 * 1024 * 1024
"""Size at which the log file is rotated; one older file is kept beside it."""
_LONGEST_LINE = 64 * 1024
_LINES_IN_MEMORY = 40


class SparkLog:
    """The output of processes that write to `descriptor`, copied line by line by a thread.

    :param path: the log file; None keeps the newest lines in memory and drops the rest.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file = None if path is None else LogFile(path, max_bytes=MAX_BYTES, older_files=1)
        self._newest: deque[str] = deque(maxlen=_LINES_IN_MEMORY)
        reading, self.descriptor = os.pipe()
        self._copier = threading.Thread(target=self._copy, args=(reading,), name="spark-log", daemon=True)
        self._copier.start()

    @property
    def newest(self) -> tuple[str, ...]:
        """The newest lines, oldest first."""
        return tuple(self._newest)

    def close(self) -> None:
        """Let the thread end once every process that writes here has ended."""
        os.close(self.descriptor)

    def wait_closed(self, timeout: float) -> None:
        """After `close`: wait until everything that was printed is in the file."""
        self._copier.join(timeout)

    def _copy(self, reading: int) -> None:
        with os.fdopen(reading, "rb") as printed:
            while line := printed.readline(_LONGEST_LINE):
                self._keep(line.decode(errors="replace").rstrip("\r\n"))
        if self._file is not None:
            self._file.close()

    def _keep(self, line: str) -> None:
        self._newest.append(line)
        if self._file is not None:
            self._file.emit(logging.makeLogRecord({"msg": line}))
