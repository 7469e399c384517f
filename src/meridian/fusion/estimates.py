"""What is known of objects as numbers: how far each is off its reference, how surely, and how observations change that.

An observation is linear in the deviation from the reference, so what it says is a 6 by 6 matrix of information and a
vector of 6, and what several say is the sum. The 21 different numbers of the matrix and the 6 of the vector are a row
of `Evidence`. Everything is for many objects at once, and each one's numbers do not depend on which others there are.

Positions are in metres, velocities in metres a second.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meridian.fusion.exact import Floats

STATE = 6
_UPPER = np.triu_indices(STATE)
COLUMNS = len(_UPPER[0]) + STATE
"""The numbers that say what observations say."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """For each object the deviation from its reference, n by 6, and its covariance, n by 6 by 6."""

    deviation: Floats
    covariance: Floats

    def __len__(self) -> int:
        return len(self.deviation)

    def __getitem__(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice) -> Estimates:
        return Estimates(self.deviation[rows], self.covariance[rows])

    def moved(self, transition: Floats, noise: Floats) -> Estimates:
        """The same at another time.

        :param transition: what a deviation becomes, n by 6 by 6.
        :param noise: the covariance of what the reference does not know on the way.
        """
        deviation = (transition @ self.deviation[:, :, None])[:, :, 0]
        return Estimates(deviation, _symmetric(transition @ self.covariance @ transition.swapaxes(1, 2) + noise))

    def told(self, said: Floats) -> Estimates:
        """What is known when observations have said this, n by `COLUMNS`."""
        matrix, vector = _unpacked(said)
        before = _inverse(self.covariance)
        covariance = _inverse(before + matrix)
        known = (before @ self.deviation[:, :, None])[:, :, 0] + vector
        return Estimates((covariance @ known[:, :, None])[:, :, 0], covariance)


def information(design: Floats, residual: Floats, weight: Floats) -> Floats:
    """What each observation says, n by `COLUMNS`.

    :param design: how its m numbers change with the deviation, n by m by 6.
    :param residual: by how much they are off what the reference foresaw, n by m.
    :param weight: one over the variance of each, n by m; 0 for a number that was not observed.
    """
    weighted = design * weight[:, :, None]
    matrix = weighted.swapaxes(1, 2) @ design
    vector = (weighted.swapaxes(1, 2) @ residual[:, :, None])[:, :, 0]
    return np.concatenate([matrix[:, _UPPER[0], _UPPER[1]], vector], axis=1)


def drift(seconds: Floats, density: float) -> Floats:
    """The covariance that an unknown acceleration adds in so many seconds, n by 6 by 6.

    :param density: of the acceleration, in square metres by cubic seconds.
    """
    noise = np.zeros((len(seconds), STATE, STATE))
    for axis in range(3):
        noise[:, axis, axis] = density * np.abs(seconds) ** 3 / 3
        noise[:, axis, axis + 3] = noise[:, axis + 3, axis] = density * seconds * np.abs(seconds) / 2
        noise[:, axis + 3, axis + 3] = density * np.abs(seconds)
    return noise


def _unpacked(said: Floats) -> tuple[Floats, Floats]:
    matrix = np.zeros((len(said), STATE, STATE))
    matrix[:, _UPPER[0], _UPPER[1]] = said[:, :-STATE]
    matrix[:, _UPPER[1], _UPPER[0]] = said[:, :-STATE]
    return matrix, said[:, -STATE:]


def _inverse(matrices: Floats) -> Floats:
    """The inverses of symmetric matrices, scaled so that none of their numbers is lost."""
    size = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    scaled = matrices / (size[:, :, None] * size[:, None, :])
    return _symmetric(np.linalg.inv(scaled) / (size[:, :, None] * size[:, None, :]))


def _symmetric(matrices: Floats) -> Floats:
    return (matrices + matrices.swapaxes(1, 2)) / 2
