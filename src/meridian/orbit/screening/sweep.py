"""Looks through a part of the horizon for pairs that may come close: states on a grid, near pairs, straight lines.

Between SGP4's states a cubic through positions and velocities is off by about 5 m after two minutes, and the line in
which two objects near enough to meet within half a step move against each other bends by no more than the gradient of
gravity makes it. With both added to the threshold, what is passed on holds every approach below it; the refinement,
with SGP4 itself, decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from meridian.orbit.frames import Floats
from meridian.orbit.propagation import Propagator
from meridian.orbit.time import NS_PER_SECOND

_OFF_THE_CUBIC_KM = 0.05
_GRADIENT_PER_S2 = 2.7e-6
"""Twice the Earth's gravitational parameter over the cube of the lowest orbit's radius."""
_ORDINARY_KM_S = 7.8
"""Few objects are faster; they are looked for apart, with a wider reach."""
_FASTEST_KM_S = 8.0
"""In a low orbit, where lines bend most."""
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pairs that may come close within half a step of a time."""

    first: Indices
    second: Indices
    times_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A part of the horizon, of whole steps from its start."""

    start_ns: int
    steps: int


@dataclass(frozen=True, slots=True)
class Grid:
    """How a sweep goes: the threshold, the steps, and the steps from one state of SGP4 to the next."""

    threshold_km: float
    step_ns: int
    steps_per_node: int

    @property
    def half_s(self) -> float:
        """Half a step, and a little more, so that nothing falls between two."""
        return 0.5 * self.step_ns / NS_PER_SECOND + 0.05

    def reach_km(self, speed_km_s: float) -> float:
        """How far apart two objects of a speed may be that meet within half a step."""
        return self.bent_km + 2.0 * speed_km_s * self.half_s

    @property
    def bent_km(self) -> float:
        """The threshold, with what a straight line may be wrong by: a third of the gradient over the whole way."""
        way = 2.0 * _FASTEST_KM_S * self.half_s
        return self.threshold_km + _OFF_THE_CUBIC_KM + _GRADIENT_PER_S2 / 3.0 * way * self.half_s**2


def sweep(propagator: Propagator, asked: NDArray[np.bool_], grid: Grid, part: Part) -> Candidates:
    """Every pair, one of it asked for, that may come below the threshold in a part of the horizon."""
    found: list[tuple[Indices, Indices, int]] = []
    nodes = -(-part.steps // grid.steps_per_node)
    node_ns = grid.step_ns * grid.steps_per_node
    codes, position, velocity = propagator.states_km(part.start_ns + np.arange(nodes + 1) * node_ns)
    for node in range(nodes):
        good = np.flatnonzero((codes[:, node] == 0) & (codes[:, node + 1] == 0))
        curve = _Curve(
            position[good, node], velocity[good, node], position[good, node + 1], velocity[good, node + 1], node_ns
        )
        for step in range(node * grid.steps_per_node, min((node + 1) * grid.steps_per_node, part.steps)):
            share = (step - node * grid.steps_per_node) / grid.steps_per_node
            first, second = _near(*curve.at(share), asked[good], grid)
            if len(first):
                found.append((good[first], good[second], part.start_ns + step * grid.step_ns))
    return _together(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """The cubic through two states of each object."""

    position: Floats
    velocity: Floats
    next_position: Floats
    next_velocity: Floats
    span_ns: int

    def at(self, share: float) -> tuple[Floats, Floats]:
        """Positions and velocities after a share of the span."""
        span, s = self.span_ns / NS_PER_SECOND, share
        change = self.next_position - self.position
        position = (
            self.position
            + change * (s * s * (3.0 - 2.0 * s))
            + (span * s * (1.0 - s)) * (self.velocity * (1.0 - s) - self.next_velocity * s)
        )
        velocity = (
            change * (6.0 * s * (1.0 - s) / span)
            + self.velocity * ((1.0 - s) * (1.0 - 3.0 * s))
            + self.next_velocity * (s * (3.0 * s - 2.0))
        )
        return position, velocity


def _near(position: Floats, velocity: Floats, asked: NDArray[np.bool_], grid: Grid) -> tuple[Indices, Indices]:
    """Pairs whose straight lines come below the threshold within half a step."""
    first, second = _pairs(position, velocity, asked, grid)
    apart, speed = position[second] - position[first], velocity[second] - velocity[first]
    fast = np.einsum("ij,ij->i", speed, speed)
    closing = np.einsum("ij,ij->i", apart, speed)
    when = np.clip(-closing / np.maximum(fast, 1e-12), -grid.half_s, grid.half_s)
    distance = np.einsum("ij,ij->i", apart, apart) + when * (2.0 * closing + when * fast)
    kept = distance < grid.bent_km**2
    return _once(first[kept], second[kept], len(position))


def _pairs(position: Floats, velocity: Floats, asked: NDArray[np.bool_], grid: Grid) -> tuple[Indices, Indices]:
    speed = np.sqrt(np.einsum("ij,ij->i", velocity, velocity))
    tree = cKDTree(position, leafsize=24, balanced_tree=False, compact_nodes=False)
    reach = grid.reach_km(_ORDINARY_KM_S)
    quick = np.flatnonzero(speed > _ORDINARY_KM_S)
    if asked.all():
        pairs = tree.query_pairs(reach, output_type="ndarray")
        both = [pairs[:, 0], pairs[:, 1]]
    else:
        both = _across(tree, position, np.flatnonzero(asked), reach)
    if len(quick):
        more = _across(tree, position, quick, grid.reach_km(float(speed.max())))
        wanted = asked[more[0]] | asked[more[1]]
        both = [np.concatenate([old, new[wanted]]) for old, new in zip(both, more, strict=True)]
    return both[0], both[1]


def _across(tree: cKDTree, position: Floats, chosen: Indices, reach: float) -> list[Indices]:
    found = cKDTree(position[chosen]).sparse_distance_matrix(tree, reach, output_type="ndarray")
    one, other = chosen[found["i"]], found["j"].astype(np.intp)
    different = one != other
    return [np.minimum(one, other)[different], np.maximum(one, other)[different]]


def _once(first: Indices, second: Indices, count: int) -> tuple[Indices, Indices]:
    keys = np.unique(np.minimum(first, second) * count + np.maximum(first, second))
    return keys // count, keys % count


def _together(found: list[tuple[Indices, Indices, int]]) -> Candidates:
    none = np.zeros(0, dtype=np.intp)
    return Candidates(
        first=np.concatenate([none, *(first for first, _, _ in found)]),
        second=np.concatenate([none, *(second for _, second, _ in found)]),
        times_ns=np.concatenate(
            [np.zeros(0, dtype=np.int64), *(np.full(len(first), at, dtype=np.int64) for first, _, at in found)]
        ),
    )
