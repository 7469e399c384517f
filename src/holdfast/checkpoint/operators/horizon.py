"""How far back the sources may yet be asked to go, by what is left when this disk is lost.

With a remote tier, a snapshot counts from when it is copied: until then a lost disk would send the sources back behind
it. What is waited for is one candidate at a time, however many snapshots are taken meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.operators.archive import Archive
    from holdfast.checkpoint.operators.cuts import ReplayFrom


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the sources may forget once these versions of the histories outlive the disk."""

    versions: Mapping[str, int]
    replays: Mapping[str, ReplayFrom]


class ReplayHorizon:
    """The earliest point at which each source may yet be asked to start."""

    def __init__(self, archives: Mapping[str, Archive], start: Mapping[str, ReplayFrom]) -> None:
        self._archives = archives
        self._candidate: Candidate | None = None
        self.safe = start

    def consider(self, replays: Mapping[str, ReplayFrom]) -> Candidate:
        """What is waited for: these replays, unless others are waited for already."""
        if self._candidate is None:
            versions = {name: archive.version for name, archive in self._archives.items()}
            self._candidate = Candidate(versions, replays)
        return self._candidate

    def is_reached(self, candidate: Candidate) -> bool:
        """Whether the candidate outlives this disk. Blocks while the store is written to."""
        return all(self._archives[name].outlives_the_disk(at) for name, at in candidate.versions.items())

    def move_to(self, candidate: Candidate) -> None:
        """The candidate was reached."""
        self.safe, self._candidate = candidate.replays, None
