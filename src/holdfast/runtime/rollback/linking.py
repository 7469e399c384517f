"""Copies Spark's checkpoint as it was after a batch, by hard links: nothing of it is edited, and no byte is copied.

Spark writes each of its files once, under a name of its own, and never changes one; so two directories may share them,
and what one of them purges stays in the other. A state file is named by its version, which is the batch it was written
by plus one; `offsets`, `commits` and descriptions of state are named by their batch.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from holdfast.disk.files import sync_directory
from holdfast.log.disk import make_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERED = re.compile(r"\.?(\d+)(?:[._]|$)")
_LOGS = frozenset({"offsets", "commits"})
_OF_BATCHES = frozenset({"_metadata", "_stateSchema"})


def link_checkpoint(source: Path, target: Path, batch_id: int, *, since: int = 0) -> list[Path]:
    """Link what Spark needs to go on behind this batch; the names last, and whoever asks syncs the files named.

    Doing it again adds what is missing. A file that Spark purges meanwhile is too old to be needed.

    :param since: the oldest batch whose `offsets` and `commits` are linked; Spark needs the last two.
    """
    make_directory(target)
    linked = [place for path, place in _needed(source, target, batch_id, since) if _link(path, place)]
    folders = {folder for place in linked for folder in place.parents if folder.is_relative_to(target)}
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        sync_directory(folder)
    return linked


def _link(path: Path, place: Path) -> bool:
    """Whether the file is there under its second name."""
    make_directory(place.parent)
    try:
        os.link(path, place)
    except FileExistsError:
        return True
    except FileNotFoundError:
        if path.exists():
            raise
        return False
    return True


def _needed(source: Path, target: Path, batch_id: int, since: int) -> Iterator[tuple[Path, Path]]:
    for path in source.rglob("*"):
        below = path.relative_to(source)
        if path.is_file() and _is_needed(below.parts, batch_id, since):
            yield path, target / below


def _is_needed(parts: tuple[str, ...], batch_id: int, since: int) -> bool:
    """Whether a file belongs to what was there after the batch."""
    number = _NUMBERED.match(parts[-1])
    if parts[0] not in (*_LOGS, "state") or number is None or "SSTs" in parts:
        return parts[0] != "point.json"
    if parts[0] in _LOGS:
        return since <= int(number[1]) <= batch_id
    newest = batch_id if _OF_BATCHES.intersection(parts) else batch_id + 1
    return int(number[1]) <= newest
