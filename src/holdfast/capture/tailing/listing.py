"""Lists the files that match the patterns, and those beside them under whose names a rotated file may hide."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from glob import has_magic, iglob
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple

from holdfast.capture.tailing.content import DEVICE, inode_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Signature(NamedTuple):
    """What changes when a file does."""

    inode: int
    """Its `inode_of`."""
    size: int
    changed: int


@dataclass(frozen=True, slots=True)
class Found:
    """A file that was there when the directory was read."""

    path: str
    signature: Signature
    is_wanted: bool = True
    """Whether it matches a pattern. One that does not is of interest only when it is a known file."""


def matching(patterns: Iterable[str]) -> Iterator[Found]:
    """The regular files that match, each once, whatever names it has."""
    paths = sorted({path for pattern in patterns for path in iglob(pattern, recursive=True)})  # noqa: PTH207 (absolute)
    seen: set[int] = set()
    for path in paths:
        signature = signature_of(path)
        if signature is not None and signature.inode not in seen:
            seen.add(signature.inode)
            yield Found(path, signature)


def beside(paths: Iterable[str], inodes: frozenset[int]) -> Iterator[Found]:
    """The files in the directories of these paths that have one of the inodes, or a name that begins like the path's.

    A rotated file keeps the beginning of its name: `app.log` becomes `app.log.1`, `app.log-20260101.gz` or
    `app-20260101.log`.
    """
    stems: dict[str, set[str]] = {}
    for path in map(PurePath, paths):
        stems.setdefault(str(path.parent), set()).add(path.name.split(".")[0] or path.name)
    for directory, names in stems.items():
        yield from _listed(directory, tuple(names), inodes)


def signature_of(path: str) -> Signature | None:
    """The signature of a regular file; None when there is none of that name."""
    try:
        found = os.stat(path)  # noqa: PTH116 (there may be thousands)
    except OSError:
        return None
    return Signature(inode_of(found), found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def _listed(directory: str, names: tuple[str, ...], inodes: frozenset[int]) -> Iterator[Found]:
    numbers = {inode % DEVICE for inode in inodes}
    try:
        with os.scandir(directory) as entries:
            near = [entry for entry in entries if entry.inode() in numbers or entry.name.startswith(names)]
            paths = [entry.path for entry in near]
    except OSError:
        return
    for path in sorted(paths):
        if (signature := signature_of(path)) is not None:
            yield Found(path, signature, is_wanted=False)


def unreadable(pattern: str) -> str | None:
    """Why files that match the pattern could not be read now, or None. A pattern without files yet is readable."""
    parts = Path(pattern).parts
    fixed = next((number for number, part in enumerate(parts) if has_magic(part)), len(parts) - 1)
    directory = Path(*parts[:fixed])
    try:
        os.scandir(directory).close()
        for path in iglob(pattern, recursive=True):  # noqa: PTH207 (absolute)
            if not Path(path).is_dir():
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except FileNotFoundError:
        return None if directory.exists() else f"{directory} does not exist"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return None
