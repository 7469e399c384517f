"""How much lies on disk, at its worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.steps import Step

if TYPE_CHECKING:
    from pathlib import Path


class Gauge:
    """A step hook that weighs the files of some directories whenever one of them has grown."""

    def __init__(self, *directories: Path) -> None:
        self._directories = directories
        self.peak = 0

    def __call__(self, step: str, /) -> None:
        if step in (Step.INBOX_INDEXED, Step.PART_WRITTEN):
            files = [path for directory in self._directories for path in directory.glob("**/*")]
            self.peak = max(self.peak, sum(map(_size, files)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # it was trimmed meanwhile
        return 0
