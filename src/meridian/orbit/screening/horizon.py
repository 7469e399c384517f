"""Screening of a catalog: all against all, or some against all, in parts of the horizon, on several processes.

Memory is bounded by one part of the horizon for each process, whatever the horizon. The order and content of the result
do not depend on the number of processes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening.filters import within_reach
from meridian.orbit.screening.refine import merged, refined
from meridian.orbit.screening.sweep import Grid, Part, sweep
from meridian.orbit.screening.values import Approach, Progress, Report, Screening
from meridian.orbit.time import NS_PER_SECOND

_STATES_PER_PART = 250_000
"""Of SGP4, for each process at a time: 12 MB."""


def screen(
    elements: Sequence[Elements],
    screening: Screening,
    primaries: Sequence[int] | None = None,
    report: Report | None = None,
) -> list[Approach]:
    """Every approach below the threshold within the horizon, in order of time; with primaries, only theirs."""
    asked = range(len(elements)) if primaries is None else primaries
    kept = within_reach(elements, asked, screening.threshold_m)
    grid = _grid(screening)
    worker = Sweeper([elements[index] for index in kept], np.isin(kept, np.asarray(asked)), grid, screening.threshold_m)
    found: list[Approach] = []
    parts = _parts(screening, grid, len(kept))
    for done, approaches in enumerate(_mapped(worker, parts, screening.processes), start=1):
        found += [_renamed(each, kept) for each in approaches]
        if report is not None:
            report(Progress(done, len(parts), len(found)))
    return [each for each in merged(found) if screening.start_ns <= each.tca_ns <= screening.end_ns]


def _grid(screening: Screening) -> Grid:
    return Grid(
        threshold_km=screening.threshold_m / 1000.0,
        step_ns=round(screening.step_s * NS_PER_SECOND),
        steps_per_node=max(1, int(screening.node_s // screening.step_s)),
    )


def _parts(screening: Screening, grid: Grid, objects: int) -> list[Part]:
    steps = -(-(screening.end_ns - screening.start_ns) // grid.step_ns) + 1
    nodes = max(1, _STATES_PER_PART // max(objects, 1))
    size = nodes * grid.steps_per_node
    return [
        Part(screening.start_ns + begin * grid.step_ns, min(size, steps - begin)) for begin in range(0, steps, size)
    ]


def _renamed(approach: Approach, kept: NDArray[np.intp]) -> Approach:
    return replace(approach, first=int(kept[approach.first]), second=int(kept[approach.second]))


class Sweeper:
    """One process's share of the work: it makes its own SGP4 records, once."""

    def __init__(self, elements: Sequence[Elements], asked: NDArray[np.bool_], grid: Grid, threshold_m: float) -> None:
        self._elements = tuple(elements)
        self._asked = asked
        self._grid = grid
        self._threshold_m = threshold_m
        self._propagator: Propagator | None = None

    def __getstate__(self) -> tuple[tuple[Elements, ...], NDArray[np.bool_], Grid, float]:
        return self._elements, self._asked, self._grid, self._threshold_m

    def __setstate__(self, state: tuple[tuple[Elements, ...], NDArray[np.bool_], Grid, float]) -> None:
        self._elements, self._asked, self._grid, self._threshold_m = state
        self._propagator = None

    def __call__(self, part: Part) -> list[Approach]:
        """The approaches of one part of the horizon."""
        if self._propagator is None:
            self._propagator = Propagator(self._elements)
        candidates = sweep(self._propagator, self._asked, self._grid, part)
        return list(refined(self._propagator, candidates, self._grid.half_s, self._threshold_m))


class _Process:
    """What a process of the pool is given when it begins, and keeps."""

    sweeper: ClassVar[Sweeper]

    @classmethod
    def begin(cls, sweeper: Sweeper) -> None:
        cls.sweeper = sweeper

    @classmethod
    def work(cls, part: Part) -> list[Approach]:
        return cls.sweeper(part)


def _mapped(worker: Sweeper, parts: Iterable[Part], processes: int) -> Iterator[list[Approach]]:
    if processes == 1:
        yield from map(worker, parts)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_Process.begin, initargs=(worker,)) as pool:
        yield from pool.map(_Process.work, parts)
