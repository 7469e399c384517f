"""Writes 1, 2, 3 … into a log, a line each, and rotates it as logrotate does, whether anybody reads it or not."""

from __future__ import annotations

import gzip
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_PAUSE = 0.05


class NumberedLines:
    """The thread that writes.

    :param rate: lines a second.
    :param rotate_at: after so many lines the file is renamed to `.1`; that one becomes `.2.gz`, and so on.
    """

    def __init__(self, log: Path, *, rate: int, rotate_at: int) -> None:
        self.written = 0
        """The number in the last line."""
        self._log = log
        self._at_once = max(1, int(rate * _PAUSE))
        self._rotate_at = rotate_at
        self._rotated = 0
        self._in_file = 0
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def finish(self) -> int:
        """Write no more; how many lines there are."""
        self._stop.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self.written

    def _run(self) -> None:
        try:
            while not self._stop.wait(_PAUSE):
                self._write()
        except BaseException as error:  # `finish` raises it
            self._failure = error

    def _write(self) -> None:
        first = self.written + 1
        with self._log.open("ab") as file:
            file.write(b"".join(b"%d\n" % n for n in range(first, first + self._at_once)))
        self.written += self._at_once
        self._in_file += self._at_once
        if self._in_file >= self._rotate_at:
            self._rotate()

    def _rotate(self) -> None:
        for age in range(self._rotated, 1, -1):
            self._named(age, ".gz").rename(self._named(age + 1, ".gz"))
        if self._rotated:
            plain, packed = self._named(1), self._named(2, ".gz")
            packed.with_suffix(".part").write_bytes(gzip.compress(plain.read_bytes()))
            packed.with_suffix(".part").rename(packed)
            plain.unlink()
        self._log.rename(self._named(1))
        self._rotated += 1
        self._in_file = 0

    def _named(self, age: int, suffix: str = "") -> Path:
        return self._log.with_name(f"{self._log.name}.{age}{suffix}")
