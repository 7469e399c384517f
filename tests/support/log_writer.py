"""Something that logs, and something that rotates its logs in every way there is, at random.

It knows every line it wrote and in which file the line is, so it never destroys one that nobody has read: before it
truncates or removes a file for good it waits until the lines in it were captured.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from random import Random

ROTATED = 4
"""So many rotated files of a log are kept."""


class LogWriter:
    """One log, `name`, and its rotated files `name.1`, `name.2.gz` and so on.

    :param wait_for: returns when the lines with these numbers were captured.
    :param pause: lets others see half a line for a while.
    :param is_patient: whether a file is rotated only when something of it was captured, and not before it is known.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        random: Random,
        *,
        wait_for: Callable[[Collection[int]], None],
        pause: Callable[[], None],
        is_patient: bool = False,
    ) -> None:
        self.path = directory / name
        self.written: list[int] = []
        self.told: list[str] = []
        """What it did, for whoever looks for a fault."""
        self._random = random
        self._wait_for = wait_for
        self._pause = pause
        self._is_patient = is_patient
        self._lines: dict[Path, list[int]] = {}
        """The lines of each file that is there."""
        self._begin()

    def acts(self) -> dict[Callable[[], None], int]:
        """All that it can do, and how often it does it: mostly it writes."""
        return {
            self.write: 30,
            self.rotate: 3,
            self.rotate_late: 3,
            self.copy_and_truncate: 3,
            self.compress: 5,
            self.truncate: 1,
            self.recreate: 1,
            self.remove_oldest: 1,
        }

    def act(self) -> None:
        """Do something."""
        acts = self.acts()
        (act,) = self._random.choices(list(acts), weights=list(acts.values()))
        self.do(act)

    def do(self, act: Callable[[], None]) -> None:
        """Do this."""
        act()
        self.told.append(act.__name__)

    def write(self) -> None:
        """Append some lines, sometimes in two halves."""
        for _ in range(self._random.randrange(1, 30)):
            line = self._line()
            if self._random.random() < 0.05:
                cut = self._random.randrange(1, len(line))
                os.write(self._file, line[:cut])
                line = line[cut:]
                self._pause()
            os.write(self._file, line)

    def rotate(self) -> None:
        """Rename, and begin a new file."""
        self._make_room()
        self._rename(self.path, self._rotated(1))
        os.close(self._file)
        self._begin()

    def rotate_late(self) -> None:
        """Rename, and go on writing to the old file for a while."""
        self._make_room()
        old = self._rotated(1)
        self._rename(self.path, old)
        for _ in range(self._random.randrange(4) if self._lines[old] else 0):
            os.write(self._file, self._line(old))
        os.close(self._file)
        self._begin()

    def copy_and_truncate(self) -> None:
        """Copy, and go on in the same file from its beginning. Nothing is written in between: that would be lost."""
        self._make_room()
        shutil.copyfile(self.path, self._rotated(1))
        self._lines[self._rotated(1)], self._lines[self.path] = self._lines[self.path], []
        os.ftruncate(self._file, 0)

    def compress(self) -> None:
        """Compress a rotated file as gzip does: first there are both, then the plain one goes."""
        plain = [path for path in self._lines if path != self.path and path.suffix != ".gz"]
        if plain:
            path = self._random.choice(plain)
            packed = path.with_name(f"{path.name}.gz")
            with path.open("rb") as source, gzip.open(packed, "wb") as target:
                shutil.copyfileobj(source, target)
            self._lines[packed] = self._lines.pop(path)
            path.unlink()

    def truncate(self) -> None:
        """Throw away what was captured."""
        self._wait_for(self._lines[self.path])
        os.ftruncate(self._file, 0)
        self._lines[self.path] = []

    def recreate(self) -> None:
        """Remove the file and begin another one of the same name, which often gets the same inode."""
        self._wait_for(self._lines.pop(self.path))
        self.path.unlink()
        os.close(self._file)
        self._begin()

    def remove_oldest(self) -> None:
        """Remove the oldest rotated file."""
        if oldest := self._oldest():
            self._wait_for(self._lines.pop(oldest))
            oldest.unlink()

    def write_and_remove(self) -> list[int]:
        """Write some lines and remove the file at once; only who has it open can read them. Their numbers."""
        self.write()
        lines = self._lines.pop(self.path)
        self.path.unlink()
        os.close(self._file)
        self._begin()
        return lines

    def close(self) -> None:
        """Write no more."""
        os.close(self._file)

    def _begin(self) -> None:
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o644)
        self._lines[self.path] = []

    def _line(self, path: Path | None = None) -> bytes:
        number = len(self.written) + 1
        self.written.append(number)
        self._lines[path or self.path].append(number)
        return b"%s %d %s .\n" % (self.path.name.encode(), number, b"x" * self._random.randrange(60))

    def _rotated(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _rename(self, old: Path, new: Path) -> None:
        old.rename(new)
        self._lines[new] = self._lines.pop(old)

    def _oldest(self) -> Path | None:
        kept = [path for path in self._lines if path != self.path]
        return max(kept, key=_number, default=None)

    def _make_room(self) -> None:
        """Shift the rotated files up by one, the oldest out."""
        if self._is_patient:
            self._wait_for(self._lines[self.path][:1])
        oldest = self._oldest()
        if oldest is not None and _number(oldest) >= ROTATED:
            self.remove_oldest()
        for path in sorted((path for path in self._lines if path != self.path), key=_number, reverse=True):
            suffix = ".gz" if path.suffix == ".gz" else ""
            self._rename(path, path.with_name(f"{self.path.name}.{_number(path) + 1}{suffix}"))


def _number(path: Path) -> int:
    return int(path.name.removesuffix(".gz").rsplit(".", 1)[1])
