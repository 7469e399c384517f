"""From evidence to findings: where both objects of a passage are when they pass, and how surely. Pure, in columns.

Which passages there are is foreseen from the catalog alone. What was observed moves both objects off their references,
and what is left to decide is how near the passage is then. A pair is judged in a window when both of its objects were
observed in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

import numpy as np

from meridian.fusion.emissions import Meeting
from meridian.fusion.estimates import Estimates
from meridian.fusion.evidence import Digests, Evidence
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.geometry import Geometry, Passages, collisions
from meridian.fusion.risk import ConjunctionRisk, Significance
from meridian.fusion.tracks import Motion, Tracks


class Sky(Motion, Protocol):
    """The catalog's references: how objects move, what they are called, and which passages they foresee."""

    def passages(self, window: int, objects: Integers) -> Passages:
        """Those between these objects that are still to come at the end of a window, within the horizon."""
        ...

    def names(self, objects: Integers) -> Sequence[str]:
        """What the objects are called in alerts."""
        ...


Probability = Callable[[Floats, Floats, Floats], Floats]
"""Of touching, from places in the plane, their spreads, and radii: one a row."""


@dataclass(frozen=True)
class Astronomer:
    """The judge of conjunctions.

    :param threshold: pairs that stay further apart than so many metres are not told of.
    """

    sky: Sky
    threshold: float
    probability: Probability = collisions
    significance: Significance = field(default_factory=Significance)
    tracks: Tracks = field(default_factory=Tracks.none)

    def settled(self, evidence: Evidence) -> Astronomer:
        """What is known when nothing more will come for these slices."""
        return replace(self, tracks=self.tracks.after(evidence, self.sky)) if len(evidence) else self

    def still(self, before: ConjunctionRisk, now: ConjunctionRisk) -> bool:
        """Whether what was said of an open window may stand."""
        return self.significance.still(before, now)

    def findings(self, window: int, evidence: Evidence) -> Mapping[Meeting, ConjunctionRisk]:
        """The passages of objects observed in a window that are nearer than the threshold; of each pair the nearest."""
        seen = evidence.since(window - 1)
        passages = self.sky.passages(window, np.unique(seen.objects))
        if not len(passages):
            return {}
        objects = np.unique(np.concatenate([passages.first, passages.second]))
        tracks = self.tracks.about(objects).after(evidence.about(objects), self.sky)
        known = tracks.at(objects, window, self.sky)
        found: dict[Meeting, ConjunctionRisk] = {}
        for meeting, risk in self._near(window, passages, _Sight.of(objects, known, seen.about(objects))):
            if meeting not in found or (risk.miss, risk.encounter) < (found[meeting].miss, found[meeting].encounter):
                found[meeting] = risk
        return found

    def _near(self, window: int, passages: Passages, sight: _Sight) -> list[tuple[Meeting, ConjunctionRisk]]:
        first, second = (np.searchsorted(sight.objects, of) for of in (passages.first, passages.second))
        geometry = Geometry.of(passages, sight.known[first], sight.known[second])
        near = np.flatnonzero(geometry.miss < self.threshold)
        risks = self._risks(passages, geometry, sight, near, first[near], second[near])
        names = dict(zip(sight.objects.tolist(), self.sky.names(sight.objects), strict=True))
        pairs = zip(passages.first[near].tolist(), passages.second[near].tolist(), risks, strict=True)
        return [(Meeting.of(window, names[one], names[other]), risk) for one, other, risk in pairs]

    def _risks(
        self, passages: Passages, geometry: Geometry, sight: _Sight, near: Integers, first: Integers, second: Integers
    ) -> Iterator[ConjunctionRisk]:
        planes, spreads = geometry.in_plane(near)
        radii = passages.radii[near]
        columns: dict[str, Iterable[object]] = {
            "encounter": passages.times[near].tolist(),
            "closest": (passages.times + geometry.offset)[near].tolist(),
            "miss": geometry.miss[near].tolist(),
            "speed": geometry.speed[near].tolist(),
            "plane": map(tuple, planes.tolist()),
            "spread": map(tuple, spreads.tolist()),
            "radius": radii.tolist(),
            "probability": self.probability(planes, spreads, radii).tolist(),
            "observed": zip(sight.counts[first].tolist(), sight.counts[second].tolist(), strict=True),
            "digests": zip(sight.digests[first].tolist(), sight.digests[second].tolist(), strict=True),
            "newest": np.maximum(sight.newest[first], sight.newest[second]).tolist(),
        }
        return map(ConjunctionRisk, *(columns[each.name] for each in fields(ConjunctionRisk)))


@dataclass(frozen=True, slots=True)
class _Sight:
    """What is known of the objects observed in a window, and from which observations in it."""

    objects: Integers
    known: Estimates
    counts: Integers
    digests: Digests
    newest: Integers

    @classmethod
    def of(cls, objects: Integers, known: Estimates, seen: Evidence) -> _Sight:
        places = np.searchsorted(objects, seen.objects)
        counts, digests = np.zeros(len(objects), np.int64), np.zeros(len(objects), np.uint64)
        np.add.at(counts, places, seen.counts)
        newest = np.zeros(len(objects), np.int64)
        np.add.at(digests, places, seen.digests)
        np.maximum.at(newest, places, seen.newest)
        return cls(objects, known, counts, digests, newest)
