"""Reads every version of every key once, so that the doctor can look at a store without asking it twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.checkpoint.contract import CheckpointStore, Version
from holdfast.checkpoint.doctor.diagnosis import KeySummary
from holdfast.checkpoint.replication.fallback import Moment, cuts, moment_of
from holdfast.checkpoint.replication.replica import RESERVED
from holdfast.model.errors import CheckpointDamaged, UnknownKey, UnknownVersion


@dataclass(frozen=True, slots=True)
class Line:
    """One key: its versions, oldest first, and which of them cannot be read."""

    key: str
    versions: Sequence[Version] = ()
    damaged: frozenset[int] = frozenset()
    is_in_doubt: bool = False
    """The newest version cannot be told, because a commit that may hold it is unreadable."""
    is_unlistable: bool = False

    @property
    def newest(self) -> int:
        """The number of the newest version listed; 0 when there is none."""
        return self.versions[-1].number if self.versions else 0

    @property
    def is_whole(self) -> bool:
        """Whether the newest version can be read."""
        return not (self.is_in_doubt or self.is_unlistable or self.newest in self.damaged)

    def summary(self) -> KeySummary:
        """The line at a glance."""
        newest = self.versions[-1] if self.versions else None
        return KeySummary(
            self.key,
            len(self.versions),
            self.newest,
            newest.size if newest else 0,
            sum(version.size for version in self.versions),
            newest.created_at if newest else None,
            self.is_whole,
        )


@dataclass(frozen=True, slots=True)
class Chart:
    """All keys of a store."""

    lines: Mapping[str, Line] = field(default_factory=dict)

    def mates(self, key: str) -> list[str]:
        """The keys whose newest versions were written by the same commit as that of `key`, itself included."""
        line = self.lines[key]
        if line.is_in_doubt or not line.versions:
            return sorted(name for name, other in self.lines.items() if other.is_in_doubt and other.versions)
        moment = moment_of(line.versions[-1])
        return sorted(name for name, other in self.lines.items() if _written_at(other, moment))

    def fall_back(self, keys: Sequence[str], is_usable: Callable[[str, int], bool]) -> Mapping[str, int] | None:
        """The newest older versions of `keys` that stood together and can all be used."""
        listed = {key: self.lines[key].versions for key in keys}
        if not listed or not all(listed.values()):
            return None
        for cut in cuts(listed):
            if all(is_usable(key, version.number) for key, version in cut.items()):
                return {key: version.number for key, version in cut.items()}
        return None

    def is_readable(self, key: str, number: int) -> bool:
        """Whether a version can be read."""
        return number not in self.lines[key].damaged


def draw(store: CheckpointStore) -> Chart:
    """Read everything; takes as long as reading the whole store does."""
    names = store.keys()
    return Chart({key: _line(store, key) for key in names if key != RESERVED})


def _line(store: CheckpointStore, key: str) -> Line:
    try:
        versions = store.versions(key)
    except CheckpointDamaged:
        return Line(key, is_unlistable=True)
    damaged = frozenset(version.number for version in versions if not _can_read(store, key, version.number))
    newest_reads = _newest_reads(store, key)
    in_doubt = not newest_reads and (not versions or versions[-1].number not in damaged)
    return Line(key, versions, damaged, in_doubt)


def _can_read(store: CheckpointStore, key: str, number: int) -> bool:
    try:
        store.get_version(key, number)
    except (CheckpointDamaged, UnknownVersion, UnknownKey):
        return False
    return True


def _newest_reads(store: CheckpointStore, key: str) -> bool:
    try:
        return store.get_raw(key) is not None
    except CheckpointDamaged:
        return False


def _written_at(line: Line, moment: Moment) -> bool:
    return bool(line.versions) and moment_of(line.versions[-1]) == moment
