"""Two objects that come close: their states and covariances, and the plane in which a fast encounter is seen.

A covariance that is not positive definite, as rounding or extrapolation leaves it, is remedied here by lifting its
eigenvalues to a small floor, and it is said that this was done. Which probability may be trusted is not decided here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from meridian.orbit.errors import InvalidEncounter
from meridian.orbit.frames import Floats
from meridian.orbit.pc.caveats import Caveat, ObjectCovariance, Subject

SIGMA_FLOOR = 1e-4
"""The least standard deviation that a covariance may have, in hard-body radii."""
SLOWEST_M_S = 1e-6
"""Below this relative speed two objects fly together."""


@dataclass(frozen=True, slots=True, eq=False)
class Encounter:
    """Two states (6,) in one inertial frame at one time, their covariances (6, 6), and the sum of the two radii."""

    first: Floats
    second: Floats
    first_covariance: Floats
    second_covariance: Floats
    hard_body_radius_m: float
    caveats: tuple[Caveat, ...] = ()
    """What the message that it comes from says against it."""

    def __post_init__(self) -> None:
        numbers = (self.first, self.second, self.first_covariance, self.second_covariance)
        shapes = [np.shape(each) for each in numbers]
        if shapes != [(6,), (6,), (6, 6), (6, 6)] or not all(np.isfinite(each).all() for each in numbers):
            raise invalid("The states and covariances are not finite numbers of 6 and 6 by 6.")
        if not (self.hard_body_radius_m > 0.0 and math.isfinite(self.hard_body_radius_m)):
            raise invalid(f"The hard-body radius is {self.hard_body_radius_m} m.")

    @property
    def position_m(self) -> Floats:
        """Where the second object is, seen from the first."""
        return self.second[:3] - self.first[:3]

    @property
    def velocity_m_s(self) -> Floats:
        """How it moves, seen from there."""
        return self.second[3:] - self.first[3:]

    @property
    def covariance(self) -> Floats:
        """Of both together, as if they had nothing in common."""
        return self.first_covariance + self.second_covariance

    @property
    def objects(self) -> tuple[ObjectCovariance, ObjectCovariance]:
        """Each of the two with its covariance."""
        return (
            ObjectCovariance(Subject.FIRST, self.first, self.first_covariance),
            ObjectCovariance(Subject.SECOND, self.second, self.second_covariance),
        )

    @property
    def closest_s(self) -> float:
        """How long after the time of the states the distance is smallest, on straight lines."""
        speed_squared = self.velocity_m_s @ self.velocity_m_s
        if speed_squared < SLOWEST_M_S**2:
            raise invalid("The two objects do not move against each other.")
        return -float(self.position_m @ self.velocity_m_s / speed_squared)

    def at_closest_approach(self) -> Encounter:
        """The same encounter when its distance is smallest: a message rounds its time to a millisecond."""
        seconds = self.closest_s
        first, second = (
            np.concatenate([state[:3] + seconds * state[3:], state[3:]]) for state in (self.first, self.second)
        )
        return replace(self, first=first, second=second)


@dataclass(frozen=True, slots=True)
class EncounterPlane:
    """What remains of a fast encounter in the plane across the relative velocity, along the axes of its ellipse.

    The first axis is the long one. `remedied` says that the covariance was not positive definite.
    """

    miss_m: tuple[float, float]
    sigma_m: tuple[float, float]
    radius_m: float
    remedied: bool = False

    def scaled(self, factor: float) -> EncounterPlane:
        """The same with an ellipse that is larger by a factor."""
        return replace(self, sigma_m=(self.sigma_m[0] * factor, self.sigma_m[1] * factor))


def plane_of(encounter: Encounter) -> EncounterPlane:
    """The plane of an encounter at its closest approach."""
    closest = encounter.at_closest_approach()
    axes = plane_axes(closest)
    found = remedied(axes @ closest.covariance[:3, :3] @ axes.T, closest.hard_body_radius_m)
    miss = found.vectors.T @ axes @ closest.position_m
    return EncounterPlane(
        miss_m=(float(miss[1]), float(miss[0])),
        sigma_m=(float(found.sigma_m[1]), float(found.sigma_m[0])),
        radius_m=closest.hard_body_radius_m,
        remedied=found.changed,
    )


def plane_axes(closest: Encounter) -> Floats:
    """Two unit vectors (rows): along the miss distance, and across it and the relative velocity."""
    along = closest.velocity_m_s / np.linalg.norm(closest.velocity_m_s)
    miss = closest.position_m - (closest.position_m @ along) * along
    if np.linalg.norm(miss) == 0.0:
        miss = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    x = miss / np.linalg.norm(miss)
    return np.array([x, np.cross(x, along)])


@dataclass(frozen=True, slots=True, eq=False)
class Remedied:
    """The axes (columns) and standard deviations of a covariance, and whether any had to be lifted."""

    vectors: Floats
    sigma_m: Floats
    changed: bool


def remedied(covariance: Floats, radius_m: float) -> Remedied:
    """A covariance by its axes, with none shorter than the floor, in ascending order."""
    values, vectors = np.linalg.eigh(covariance)
    floor = (SIGMA_FLOOR * radius_m) ** 2
    return Remedied(vectors, np.sqrt(np.maximum(values, floor)), bool((values < floor).any()))


def invalid(what: str) -> InvalidEncounter:
    """The error about an encounter."""
    return InvalidEncounter(what, remedy="Give two whole states and covariances in one frame, and a radius above zero.")
