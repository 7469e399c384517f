"""Finds out what the local tier still has of some keys: the newest cut, or the newest older one that is whole.

Keys that are recovered together must come from one moment. When one of them is damaged, all of them go back to the
newest moment at which every one can be read and certainly stood together. That is told without the order of times,
since a clock may go back: versions of one commit have the same epoch and time, a key's versions are ordered by their
numbers, and epochs only rise. Where this leaves open which of two keys was written last, and past a version that is no
longer kept, the search goes on at the next older commit that wrote all of them. A store does not tell when a key was
deleted, so past the newest cut a key that is absent now, and was there once, ends the search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.checkpoint.contract import CheckpointStore, Stored, Version
from holdfast.checkpoint.replication.past import may_have_held
from holdfast.checkpoint.rules import place
from holdfast.model.errors import CheckpointDamaged, UnknownVersion

Lines = Mapping[str, Sequence[Version]]
"""The versions of each key, oldest first; no key without any."""

Moment = tuple[int, datetime]
"""An epoch, and a time in it."""


@dataclass(frozen=True, slots=True)
class LocalCut:
    """What the local tier has of some keys."""

    found: Mapping[str, Stored] = field(repr=False, default_factory=dict)
    """What can be used; empty when nothing can."""
    damaged: tuple[str, ...] = ()
    """What could not be read and was passed over."""
    doubtful: tuple[str, ...] = ()
    """Keys without any version of which it is not certain that they are absent."""

    @property
    def is_newest(self) -> bool:
        """Whether nothing had to be passed over."""
        return not self.damaged


def newest_cut(store: CheckpointStore, keys: Sequence[str]) -> LocalCut:
    """The newest cut of `keys` in a store that can be read."""
    found: dict[str, Stored] = {}
    damaged: list[str] = []
    for key in keys:
        try:
            if stored := store.get_raw(key):
                found[key] = stored
        except CheckpointDamaged as error:
            damaged.append(str(error.context.get("where", key)))
    return _older_cut(store, keys, damaged) if damaged else LocalCut(found)


def _older_cut(store: CheckpointStore, keys: Sequence[str], damaged: list[str]) -> LocalCut:
    try:
        listed = {key: store.versions(key) for key in keys}
    except CheckpointDamaged:
        return LocalCut(damaged=tuple(damaged))
    absent = [key for key, versions in listed.items() if not versions]
    doubtful = tuple(key for key in absent if _is_doubtful(store, key))
    for cut in cuts({key: versions for key, versions in listed.items() if versions}):
        found, broken = _load(store, cut)
        if broken is None:
            return LocalCut(found, tuple(damaged), doubtful)
        if broken not in damaged:
            damaged.append(broken)
        if deleted := [key for key in absent if may_have_held(store, key)]:
            damaged += [f"{key!r}, which may have been deleted since" for key in deleted]
            break
    return LocalCut({}, tuple(damaged), doubtful)


def _load(store: CheckpointStore, cut: Mapping[str, Version]) -> tuple[Mapping[str, Stored], str | None]:
    found: dict[str, Stored] = {}
    for key, version in cut.items():
        try:
            found[key] = store.get_version(key, version.number)
        except (CheckpointDamaged, UnknownVersion):
            return {}, place(key, version.number)
    return found, None


def _is_doubtful(store: CheckpointStore, key: str) -> bool:
    try:
        store.get_raw(key)
    except CheckpointDamaged:
        return True
    return False


def cuts(lines: Lines) -> Iterator[Mapping[str, Version]]:
    """The versions that certainly stood together, newest first; every key has one in every cut."""
    left = {key: list(line) for key, line in lines.items()}
    is_certain = True
    while left and all(left.values()):
        cut = {key: line[-1] for key, line in left.items()}
        last = _last_commits(left)
        is_certain = is_certain or _wrote_all(last, cut)
        if is_certain:
            yield cut
        if not last:
            return
        for key in [key for key, version in cut.items() if moment_of(version) in last]:
            left[key].pop()
            is_certain = is_certain and len(last) == 1 and not _is_hole(left[key], cut[key])


def _last_commits(lines: Lines) -> set[Moment]:
    """One of these commits was the last one; several when only a clock could tell which, none when times repeat."""
    heads = {moment_of(line[-1]) for line in lines.values()}
    earlier = {moment_of(version) for line in lines.values() for version in line[:-1]} if len(lines) > 1 else set()
    newest_epoch = max(epoch for epoch, _ in heads)
    return {moment for moment in heads - earlier if moment[0] == newest_epoch}


def _wrote_all(commits: set[Moment], cut: Mapping[str, Version]) -> bool:
    """Whether all versions of a cut are of one commit."""
    return len(commits) == 1 and all(moment_of(version) in commits for version in cut.values())


def _is_hole(before: Sequence[Version], version: Version) -> bool:
    """Whether another version, which is no longer kept, stood between a version and those kept before it."""
    return bool(before) and before[-1].number != version.number - 1


def moment_of(version: Version) -> Moment:
    """When a version was written; versions of one commit have the same."""
    return version.epoch, version.created_at
