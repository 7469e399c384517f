"""The closest approach of two estimated states: when, how near, how fast, and with which combined uncertainty.

For pairs of states at one time that meet within a minute or so, many at once, as a correlator has them. Approaches over
hours are found by screening; probabilities are the matter of `meridian.orbit.pc`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.orbit.frames import Floats
from meridian.orbit.motion import Gravity, moved
from meridian.orbit.pc.encounter import Encounter

_REFINEMENTS = 4
_SLOWEST_M_S = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Conjunctions:
    """n pairs at their closest approach, which is `seconds` after the time of their states.

    `first` and `second` are the states (n, 6) there, with their covariances (n, 6, 6).
    """

    seconds: Floats
    first: Floats
    second: Floats
    first_covariance: Floats
    second_covariance: Floats

    @property
    def miss_m(self) -> Floats:
        """The distances (n,)."""
        return np.asarray(np.linalg.norm(self.second[:, :3] - self.first[:, :3], axis=1))

    @property
    def relative_velocity_m_s(self) -> Floats:
        """How the second moves, seen from the first (n, 3)."""
        return self.second[:, 3:] - self.first[:, 3:]

    @property
    def covariance(self) -> Floats:
        """Of the relative states (n, 6, 6)."""
        return self.first_covariance + self.second_covariance

    def encounter(self, index: int, hard_body_radius_m: float) -> Encounter:
        """One of the pairs, to ask for its probability of collision."""
        return Encounter(
            self.first[index],
            self.second[index],
            self.first_covariance[index],
            self.second_covariance[index],
            hard_body_radius_m,
        )


def straight_tca(first: Floats, second: Floats) -> Floats:
    """Seconds until states (n, 6) would be closest if they moved in straight lines; 0 for those that fly together."""
    apart, speed = second[:, :3] - first[:, :3], second[:, 3:] - first[:, 3:]
    fast = np.sum(speed**2, axis=1)
    return np.where(fast > _SLOWEST_M_S**2, -np.sum(apart * speed, axis=1) / np.maximum(fast, _SLOWEST_M_S**2), 0.0)


def conjunctions(
    first: Floats, second: Floats, first_covariance: Floats, second_covariance: Floats, *,
    within_s: float = 60.0, gravity: Gravity = Gravity.J2,
) -> Conjunctions:  # fmt: skip
    """The closest approach of each pair within a time before or after; at that limit where it would lie beyond."""
    seconds = np.clip(straight_tca(first, second), -within_s, within_s)
    for _ in range(_REFINEMENTS):
        there = [moved(states, seconds, gravity)[0] for states in (first, second)]
        seconds = np.clip(seconds + straight_tca(*there), -within_s, within_s)
    (one, one_moved), (other, other_moved) = (moved(states, seconds, gravity) for states in (first, second))
    return Conjunctions(
        seconds,
        one,
        other,
        one_moved @ first_covariance @ np.swapaxes(one_moved, 1, 2),
        other_moved @ second_covariance @ np.swapaxes(other_moved, 1, 2),
    )
