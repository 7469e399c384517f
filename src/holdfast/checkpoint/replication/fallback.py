"""Finds out what the local tier still has of some keys: the newest cut, or the newest older one that is whole.

Keys that are recovered together must come from one moment. When one of them is damaged, all of them go back to the
newest commit at which every one can be read. Versions of one commit have the same epoch and time, so the moments are
found by (epoch, created_at); where a clock went back, or two commits have one time, the order of several keys is not
known and the search ends there rather than guess. For a single key the version numbers are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.checkpoint.contract import CheckpointStore, Stored, Version
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
    doubtful = tuple(key for key, versions in listed.items() if not versions and _is_doubtful(store, key))
    for cut in cuts({key: versions for key, versions in listed.items() if versions}):
        found, broken = _load(store, cut)
        if broken is None:
            return LocalCut(found, tuple(damaged), doubtful)
        if broken not in damaged:
            damaged.append(broken)
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
    """The version each key had after each commit, newest first; every key has one in every cut."""
    heads = {key: len(line) - 1 for key, line in lines.items()}
    unordered = [stamp for line in lines.values() for stamp in _before_a_step_back(line)] if len(lines) > 1 else []
    while lines:
        cut = {key: lines[key][head] for key, head in heads.items()}
        yield cut
        moment = max(map(moment_of, cut.values()))
        if any(stamp >= moment for stamp in unordered):
            return
        for key in [key for key, version in cut.items() if moment_of(version) == moment]:
            heads[key] -= 1
            if heads[key] < 0:
                return


def _before_a_step_back(line: Sequence[Version]) -> list[Moment]:
    """The moments of the versions before the newest place where time did not go forward: they order nothing."""
    stamps = [moment_of(version) for version in line]
    breaks = [index for index in range(1, len(stamps)) if stamps[index] <= stamps[index - 1]]
    return stamps[: breaks[-1]] if breaks else []


def moment_of(version: Version) -> Moment:
    """When a version was written; versions of one commit have the same."""
    return version.epoch, version.created_at
