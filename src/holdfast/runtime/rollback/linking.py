"""Copies Spark's checkpoint as it was after a batch, by hard links: nothing of it is edited, and no byte is copied.

Spark writes each of its files once, under a name of its own, and never changes one; so two directories may share them,
and what one of them purges stays in the other. A state file is named by its version, which is the batch it was written
by plus one; `offsets`, `commits` and descriptions of state are named by their batch.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from holdfast.disk.files import sync_directory, sync_file
from holdfast.log.disk import make_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NUMBERED = re.compile(r"\.?(\d+)(?:[._]|$)")
_LOGS = frozenset({"offsets", "commits"})
_OF_BATCHES = frozenset({"_metadata", "_stateSchema"})


def link_checkpoint(source: Path, target: Path, batch_id: int) -> None:
    """Link what Spark needs to go on behind this batch, and make it last. Doing it again adds what is missing.

    A file that Spark purges meanwhile is too old to be needed.
    """
    folders = {target}
    make_directory(target)
    for path in _needed(source, batch_id):
        place = target / path.relative_to(source)
        make_directory(place.parent)
        folders.update(folder for folder in place.parents if folder.is_relative_to(target))
        _link(path, place)
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        sync_directory(folder)


def _link(path: Path, place: Path) -> None:
    try:
        os.link(path, place)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if path.exists():
            raise
        return
    sync_file(place)


def _needed(source: Path, batch_id: int) -> Iterator[Path]:
    for path in source.rglob("*"):
        if path.is_file() and _is_needed(path.relative_to(source).parts, batch_id):
            yield path


def _is_needed(parts: tuple[str, ...], batch_id: int) -> bool:
    """Whether a file belongs to what was there after the batch."""
    number = _NUMBERED.match(parts[-1])
    if parts[0] not in (*_LOGS, "state") or number is None or "SSTs" in parts:
        return parts[0] != "point.json"
    if parts[0] in _LOGS:
        return int(number[1]) <= batch_id
    newest = batch_id if _OF_BATCHES.intersection(parts) else batch_id + 1
    return int(number[1]) <= newest
