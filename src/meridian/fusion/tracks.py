"""What is known of each object: the part of the catalog that observations change. Pure, in columns.

A track stands at the end of the last slice in which its object was observed. With the next such slice it is moved there
and told what was observed, in the order of slices. So it depends on what was seen in which slice, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meridian.fusion.estimates import Estimates
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Integers


class Motion(Protocol):
    """How objects move, and what is known of them before they are observed."""

    def prior(self, objects: Integers, slices: Integers) -> Estimates:
        """What is known at the end of these slices without any observation."""
        ...

    def moved(self, known: Estimates, objects: Integers, start: Integers, end: Integers) -> Estimates:
        """What is known at the end of some slices, when this is known at the end of others."""
        ...


@dataclass(frozen=True, slots=True)
class Tracks:
    """One row for each object that was ever observed, by its number in the catalog.

    :param slices: at the end of which it stands.
    :param counts: how many observations it is from.
    :param newest: the time of the newest.
    :param sources: who made them, a bit for each sensor.
    """

    objects: Integers
    slices: Integers
    estimates: Estimates
    counts: Integers
    newest: Integers
    sources: Integers

    @classmethod
    def none(cls) -> Tracks:
        """Before anything was observed."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, Estimates(np.empty((0, 6)), np.empty((0, 6, 6))), nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.objects)

    def after(self, evidence: Evidence, motion: Motion) -> Tracks:
        """What is known when this was observed, too; only slices after those of the tracks may be in it."""
        tracks = self
        for slice_ in np.unique(evidence.slices).tolist():
            tracks = tracks._after_slice(evidence.since(slice_).before(slice_ + 1), motion)
        return tracks

    def at(self, objects: Integers, slice_: int, motion: Motion) -> Estimates:
        """What is known of these objects at the end of a slice."""
        slices = np.full(len(objects), slice_, np.int64)
        unobserved = motion.prior(objects, slices)
        known = Estimates(unobserved.deviation.copy(), unobserved.covariance.copy())
        places, has_track = self._places(objects)
        rows = places[has_track]
        if len(rows):
            moved = motion.moved(self.estimates[rows], objects[has_track], self.slices[rows], slices[has_track])
            known.deviation[has_track], known.covariance[has_track] = moved.deviation, moved.covariance
        return known

    def _after_slice(self, seen: Evidence, motion: Motion) -> Tracks:
        estimates = self.at(seen.objects, int(seen.slices[0]), motion).told(seen.sums.numbers())
        places, has_track = self._places(seen.objects)
        counts = seen.counts.copy()
        counts[has_track] += self.counts[places[has_track]]
        newest = seen.newest.copy()
        newest[has_track] = np.maximum(newest[has_track], self.newest[places[has_track]])
        sources = seen.sources.copy()
        sources[has_track] |= self.sources[places[has_track]]
        stays = ~np.isin(self.objects, seen.objects)
        order = np.argsort(np.concatenate([self.objects[stays], seen.objects]), kind="stable")
        joined = [
            np.concatenate([old[stays], new])[order]
            for old, new in (
                (self.objects, seen.objects),
                (self.slices, seen.slices),
                (self.estimates.deviation, estimates.deviation),
                (self.estimates.covariance, estimates.covariance),
                (self.counts, counts),
                (self.newest, newest),
                (self.sources, sources),
            )
        ]
        return Tracks(joined[0], joined[1], Estimates(joined[2], joined[3]), joined[4], joined[5], joined[6])

    def about(self, objects: Integers) -> Tracks:
        """The tracks of these objects."""
        rows = np.isin(self.objects, objects)
        return Tracks(
            self.objects[rows],
            self.slices[rows],
            self.estimates[rows],
            self.counts[rows],
            self.newest[rows],
            self.sources[rows],
        )

    def _places(self, objects: Integers) -> tuple[Integers, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
        places = np.searchsorted(self.objects, objects)
        inside = np.minimum(places, max(len(self.objects) - 1, 0))
        has_track = self.objects[inside] == objects if len(self.objects) else np.zeros(len(objects), np.bool_)
        return inside, has_track
