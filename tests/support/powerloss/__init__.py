"""A loss of power, played: runs a process so that afterwards a directory can be had as a disk would have kept it.

The model is strict. A file has the content of its last sync, or none; a directory has the names of its last sync, or
none, so also what was removed and not synced is back. Real file systems keep more; no promise may rest on that.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("shim.c")


def compiled(directory: Path) -> Path:
    """The library that is preloaded; `POWERLOSS_ROOT` and `POWERLOSS_KEPT` tell it what to record and where."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler (Debian: gcc), so no loss of power can be played")
    library = directory / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    return library


@dataclass(frozen=True)
class Disk:
    """A directory whose syncs are recorded."""

    root: Path
    kept: Path

    @classmethod
    def prepare(cls, parent: Path) -> Disk:
        """A root below `parent`; the root itself is durable from the beginning, and empty."""
        disk = cls(parent / "root", parent / "kept")
        disk.root.mkdir(parents=True)
        disk.kept.mkdir()
        return disk

    def lose_power(self) -> None:
        """Let the root be what is left of it; the process must be dead."""
        left = self.root.with_name("left")
        self._restore(_key(self.root), left)
        shutil.rmtree(self.root)
        shutil.rmtree(self.kept)
        left.rename(self.root)

    def _restore(self, key: str, target: Path) -> None:
        target.mkdir()
        names = self.kept / f"{key}.dir"
        for line in names.read_text().splitlines() if names.exists() else ():
            child, kind, name = line.split(" ", 2)
            if kind == "d":
                self._restore(child, target / name)
            elif (self.kept / child).exists():
                shutil.copyfile(self.kept / child, target / name)
            else:
                (target / name).touch()


def _key(path: Path) -> str:
    """The same key as the shim's."""
    text = subprocess.run(
        ["stat", "--format=%i %W %w", path], capture_output=True, text=True, check=True
    ).stdout.split()
    fraction = text[3].partition(".")[2]
    return f"{text[0]}-{text[1]}-{int(fraction)}"
