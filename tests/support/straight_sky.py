"""A sky in which every object flies straight on, so that all there is to know of a passage is school geometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from meridian.fusion.estimates import Estimates, drift, information
from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Floats, Integers
from meridian.fusion.geometry import Passages
from meridian.fusion.windows import SECOND, Windows

WINDOWS = Windows()
DENSITY = 1e-6
PRIOR = np.diag([1e6, 1e6, 1e6, 1.0, 1.0, 1.0])


@dataclass(frozen=True)
class StraightSky:
    """Objects by number, each with its state at time 0, n by 6."""

    states: Floats
    radius: float = 20.0

    def prior(self, objects: Integers, slices: Integers) -> Estimates:
        return Estimates(np.zeros((len(objects), 6)), np.broadcast_to(PRIOR, (len(objects), 6, 6)))

    def moved(self, known: Estimates, objects: Integers, start: Integers, end: Integers) -> Estimates:
        seconds = (end - start) * WINDOWS.size / SECOND
        return known.moved(straight_on(seconds), drift(seconds, DENSITY))

    def passages(self, window: int, objects: Integers) -> Passages:
        pairs = np.array(list(combinations(objects.tolist(), 2)), np.int64).reshape(-1, 2)
        first, second = pairs[:, 0], pairs[:, 1]
        relative = self.states[second] - self.states[first]
        when = closest(relative)
        seconds = when - WINDOWS.end(window) / SECOND
        transition = straight_on(seconds)
        states = (straight_on(when) @ relative[:, :, None])[:, :, 0]
        times = np.rint(when * SECOND).astype(np.int64)
        radii = np.full(len(pairs), self.radius)
        return Passages(first, second, times, states, transition, transition, drift(seconds, 2 * DENSITY), radii)

    def names(self, objects: Integers) -> Sequence[str]:
        return [f"object-{number:03}" for number in objects.tolist()]

    def evidence(self, times: Floats, objects: Integers, places: Floats, sigma: float) -> Evidence:
        """Places of objects, as they were observed at these times, each with the number of its row as digest."""
        slices = WINDOWS.slices(np.rint(times * SECOND).astype(np.int64))
        until_end = (slices + 1) * WINDOWS.size / SECOND - times
        design = straight_on(-until_end)[:, :3, :]
        foreseen = self.states[objects, :3] + times[:, None] * self.states[objects, 3:]
        said = information(design, places - foreseen, np.full((len(times), 3), sigma**-2.0))
        digests = np.arange(1, len(times) + 1, dtype=np.uint64)
        return Evidence.of(slices, objects, said, digests, np.rint(times * SECOND).astype(np.int64))


def straight_on(seconds: Floats) -> Floats:
    """What a state becomes in so many seconds, n by 6 by 6."""
    return np.eye(6) + seconds[:, None, None] * np.eye(6, k=3)


def closest(relative: Floats) -> Floats:
    """When two objects are closest, in seconds from 0."""
    place, velocity = relative[:, :3], relative[:, 3:]
    when: Floats = -(place * velocity).sum(axis=1) / (velocity * velocity).sum(axis=1)
    return when
