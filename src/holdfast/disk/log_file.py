"""A log file of bounded size that never ends its writer: what cannot be written, as on a full disk, is dropped."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path


class LogFile(RotatingFileHandler):
    """A file with its directory, rotated by size.

    :param max_bytes: the size at which the file is rotated.
    :param older_files: how many rotated files are kept beside it.
    """

    def __init__(self, path: Path, *, max_bytes: int, older_files: int) -> None:
        super().__init__(
            path, maxBytes=max_bytes, backupCount=older_files, delay=True, encoding="utf-8", errors="backslashreplace"
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        try:
            if self.stream is None:
                Path(self.baseFilename).parent.mkdir(parents=True, exist_ok=True)
            super().emit(record)
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name that logging calls)
        """Drop the line; the next one opens the file anew."""
        stream, self.stream = self.stream, None
        if stream is not None:
            try:
                stream.close()
            except OSError:
                return
