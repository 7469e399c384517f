"""What speaks against the data of an encounter: covariances that are missing, made up or impossible. Pure.

A valid message can carry a covariance that says nothing: zeros, a default, a placeholder of ten Earth radii, a matrix
that is no covariance. Each is named here. Which probability may be given in spite of it is decided in `assessment`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.frames import Floats, rotated_covariance, rtn_basis

LEAST_SIGMA_M = 1e-3
"""No orbit is predicted better than this: a smaller standard deviation stands for one that is not known."""
LEAST_SIGMA_M_S = 1e-7
LARGEST_SHARE = 0.1
"""A standard deviation above this share of the distance, or of the speed, says that the orbit is not known."""
ROUNDING = 1e-3
"""How far below zero an eigenvalue of the correlations may lie by the rounding of a message to four digits."""
_EXACT = 1e-12
"""How far by the rounding of double precision."""
UNCOUPLED = 0.5


class Flaw(StrEnum):
    """What is wrong with the data of an encounter."""

    NO_COVARIANCE = "no-covariance"
    DEFAULT_COVARIANCE = "default-covariance"
    PLACEHOLDER_COVARIANCE = "placeholder-covariance"
    INDEFINITE_POSITION = "indefinite-position"
    NO_VELOCITY_COVARIANCE = "no-velocity-covariance"
    INDEFINITE_VELOCITY = "indefinite-velocity"
    UNCOUPLED_VELOCITY = "uncoupled-velocity"
    INCOMPLETE = "incomplete"
    MISS_DISTANCE = "miss-distance"
    RELATIVE_STATE = "relative-state"
    LARGE_RADIUS = "large-radius"


POSITION_UNKNOWN = frozenset(
    {Flaw.NO_COVARIANCE, Flaw.DEFAULT_COVARIANCE, Flaw.PLACEHOLDER_COVARIANCE, Flaw.INDEFINITE_POSITION}
)
"""With one of these there is no probability at all."""
VELOCITY_UNKNOWN = frozenset({Flaw.NO_VELOCITY_COVARIANCE, Flaw.INDEFINITE_VELOCITY})
"""With one of these there is no curved probability, only a planar one where it needs no check."""


class Subject(StrEnum):
    """Which object a caveat is about."""

    FIRST = "object 1"
    SECOND = "object 2"
    BOTH = "both objects"


@dataclass(frozen=True, slots=True)
class Caveat:
    """A flaw, the object that has it, and a sentence about it."""

    flaw: Flaw
    subject: Subject
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ObjectCovariance:
    """The covariance (6, 6) of one object with its state (6,), seen in the object's own RTN axes."""

    subject: Subject
    state: Floats
    covariance: Floats

    @property
    def rtn(self) -> Floats:
        """In RTN."""
        return rotated_covariance(self.covariance, rtn_basis(self.state[:3], self.state[3:]))

    def caveats(self) -> Iterator[Caveat]:
        """What is wrong with it, the gravest first."""
        rtn = self.rtn
        variances = np.diag(rtn)
        if variances[:3].min() < LEAST_SIGMA_M**2:
            yield self._caveat(Flaw.NO_COVARIANCE, "has no covariance of its position: a variance is zero or below")
            return
        if variances[:3].max() > (LARGEST_SHARE * np.linalg.norm(self.state[:3])) ** 2:
            sigma = np.sqrt(variances[:3].max()) / 1e3
            what = f"has a placeholder for a covariance: a standard deviation of {sigma:,.0f} km"
            yield self._caveat(Flaw.PLACEHOLDER_COVARIANCE, what)
            return
        if least_correlation(rtn[:3, :3]) < -ROUNDING:
            what = "has a covariance of its position that is not positive definite"
            yield self._caveat(Flaw.INDEFINITE_POSITION, what)
            return
        yield from self._of_velocity(rtn)

    def _of_velocity(self, rtn: Floats) -> Iterator[Caveat]:
        variances = np.diag(rtn)[3:]
        if variances.min() < LEAST_SIGMA_M_S**2:
            what = "has no covariance of its velocity: a variance is zero or below"
            yield self._caveat(Flaw.NO_VELOCITY_COVARIANCE, what)
        elif variances.max() > (LARGEST_SHARE * np.linalg.norm(self.state[3:])) ** 2:
            sigma = np.sqrt(variances.max())
            what = f"has a placeholder for the covariance of its velocity: a standard deviation of {sigma:,.0f} m/s"
            yield self._caveat(Flaw.NO_VELOCITY_COVARIANCE, what)
        elif least_correlation(rtn) < -ROUNDING:
            what = "has a covariance of position and velocity together that is not positive definite"
            yield self._caveat(Flaw.INDEFINITE_VELOCITY, what)
        elif self._follows_no_orbit(rtn):
            what = "has a covariance of its velocity that does not follow its error along the orbit"
            yield self._caveat(Flaw.UNCOUPLED_VELOCITY, what)

    def _follows_no_orbit(self, rtn: Floats) -> bool:
        """Whether an error along the track leaves the velocity as it is.

        An object that is early by some seconds is ahead by its transverse velocity times these, and gravity has changed
        its radial velocity for as long. Every orbit determination gives the two together.
        """
        position, velocity = self.state[:3], self.state[3:]
        momentum = np.linalg.norm(np.cross(position, velocity))
        rate = float(EARTH_MU / (np.linalg.norm(position) * momentum))
        left = rtn[3, 3] + 2.0 * rate * rtn[3, 1] + rate**2 * rtn[1, 1]
        return bool(left > (UNCOUPLED * rate) ** 2 * rtn[1, 1])

    def _caveat(self, flaw: Flaw, what: str) -> Caveat:
        return Caveat(flaw, self.subject, f"{self.subject.value.capitalize()} {what}.")

    def position_damage_m2(self) -> float:
        """By how much a variance of position is below zero somewhere: it is wrong by at least this."""
        return max(0.0, -float(np.linalg.eigvalsh(self.covariance[:3, :3])[0]))

    def repaired(self) -> tuple[Floats, bool]:
        """The nearest covariance that is one, along the axes of the state, and whether anything had to be changed."""
        rtn = self.rtn
        scale = np.sqrt(np.diag(rtn))
        values, vectors = np.linalg.eigh(rtn / np.outer(scale, scale))
        if values[0] >= -_EXACT:
            return self.covariance, False
        raised = scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
        return rotated_covariance(raised @ raised.T, rtn_basis(self.state[:3], self.state[3:]).T), True


def least_correlation(covariance: Floats) -> float:
    """The smallest eigenvalue of the correlations; minus infinity where one is beyond what rounding explains."""
    bounds = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    if (np.abs(covariance) > (1.0 + ROUNDING) * bounds).any():
        return -np.inf
    return float(np.linalg.eigvalsh(covariance / bounds)[0])
