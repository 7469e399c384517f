"""Looks below a log of commit documents, in a directory or a bucket: documents, blobs and files that do not belong."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from holdfast.checkpoint.commitlog.document import MARKER, commit_name
from holdfast.checkpoint.commitlog.medium import Medium
from holdfast.checkpoint.commitlog.model import View
from holdfast.checkpoint.commitlog.reader import LogReader
from holdfast.checkpoint.commitlog.store import LogStore
from holdfast.checkpoint.doctor.diagnosis import Finding, FindingKind
from holdfast.checkpoint.doctor.repairs import AcceptLoss, Remove
from holdfast.checkpoint.file import FileMedium
from holdfast.model.errors import CheckpointDamaged

_KNOWN_FOLDERS = ("commits", "blobs", "pruned")


def findings_below(store: LogStore) -> Iterator[Finding]:
    """What is wrong in the place of a log store."""
    medium, reader = store.medium, LogReader(store.medium)
    view = reader.look()
    yield from _damaged_commits(medium, reader, view)
    yield from _doubt(view)
    yield from _orphans(medium, reader, view)
    yield from _foreign(medium)
    if isinstance(medium, FileMedium):
        yield from _leftovers(medium)
        yield from _foreign_inside(medium)


def _damaged_commits(medium: Medium, reader: LogReader, view: View) -> Iterator[Finding]:
    for number in medium.numbers():
        try:
            reader.document(number)
        except CheckpointDamaged as error:
            is_newest = number > view.document.number
            yield Finding(
                FindingKind.DAMAGED_COMMIT,
                medium.where(commit_name(number)),
                error.what,
                "Whoever starts takes over again and falls back to the commit before it."
                if is_newest
                else "Nothing, unless somebody goes back to a version that it wrote.",
                cannot="its bytes are lost; what can be done about the keys in it is said at the keys.",
            )


def _doubt(view: View) -> Iterator[Finding]:
    """What remains in doubt once every known key was written again."""
    if view.doubt is None:
        return
    yield Finding(
        FindingKind.DOUBT,
        f"commit {', '.join(map(str, view.doubt.commits))}",
        "It could not be read, so a key that seems absent may have been first written by it.",
        "A key that seems absent is refused instead of being taken for new.",
        AcceptLoss(view.doubt.commits),
    )


def _orphans(medium: Medium, reader: LogReader, view: View) -> Iterator[Finding]:
    live = {record.blob for key in view.present() for record in reader.walk(view, key)}
    for name in sorted(set(medium.blobs()) - live):
        if not _is_old_enough(reader, view, name):
            continue
        yield Finding(
            FindingKind.ORPHAN,
            medium.where(name),
            "No version refers to it: its commit was never published, or its version was forgotten.",
            "Nothing: it is not read.",
            Remove(name),
        )


def _is_old_enough(reader: LogReader, view: View, name: str) -> bool:
    """A blob may wait for a commit under way, or belong to one that cannot be read."""
    number = int(name.removeprefix("blobs/").split("-")[0])
    if number > view.document.number:
        return False
    try:
        reader.document(number)
    except CheckpointDamaged:
        return False
    return True


def _foreign(medium: Medium) -> Iterator[Finding]:
    for name in medium.strangers():
        if not name.endswith(MARKER):
            yield _not_ours(medium.where(Path(name).name) if isinstance(medium, FileMedium) else name)


def _foreign_inside(medium: FileMedium) -> Iterator[Finding]:
    """Files in our folders whose names no store would give."""
    ours = {commit_name(number) for number in medium.numbers()} | set(medium.blobs())
    for folder in _KNOWN_FOLDERS:
        for path in sorted(Path(medium.where(folder)).iterdir()):
            if f"{folder}/{path.name}" not in ours and not (folder == "pruned" and path.name.isdecimal()):
                yield _not_ours(str(path))


def _leftovers(medium: FileMedium) -> Iterator[Finding]:
    for path in sorted(Path(medium.where("tmp")).iterdir()):
        if stat.S_ISREG(path.lstat().st_mode):
            yield Finding(
                FindingKind.LEFTOVER,
                str(path),
                "It was being written when its process ended, and was never part of the store.",
                "Nothing: it is not read, and removed once it is an hour old.",
                Remove(f"tmp/{path.name}"),
            )


def _not_ours(where: str) -> Finding:
    return Finding(
        FindingKind.FOREIGN,
        where,
        "It lies in the store's place, and no store of ours writes such a file.",
        "Nothing: it is not read.",
        cannot="it is not ours to remove; move it away if it is yours.",
    )
