"""Screening of the whole real catalog, and of 30,000 objects, over a day at 5 km, beside SGP4's own rate.

The real catalog is read from `../shared/data/tle` (or `HOLDFAST_DATA`); without it a made-up one of the same size takes
its place. `SCREENING_HOURS` makes the horizon shorter. The peer is SGP4 alone, one process, in the same run: the states
that a sweep without interpolation would need, one every step, at that rate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from tests.support.orbit_data import catalog_text, catalogs

from meridian.orbit.catalog import read_catalog
from meridian.orbit.elements import Elements
from meridian.orbit.propagation import Propagator
from meridian.orbit.screening import Progress, Screening, screen

HOURS = float(os.environ.get("SCREENING_HOURS", "24"))
THRESHOLD_M = 5_000.0
MANY = 30_000
START_NS = 1_787_270_400_000_000_000


def run() -> Iterator[dict[str, object]]:
    real = _catalog()
    rate = _sgp4_rate(real)
    yield _figure("sgp4_alone", rate, "states/s")
    for name, elements in (("real", real), (f"{MANY // 1000}k", _filled(real, MANY))):
        asked = Screening(START_NS, START_NS + round(HOURS * 3_600e9), THRESHOLD_M)
        started = time.perf_counter()
        found = screen(elements, asked, report=_tell)
        seconds = time.perf_counter() - started
        states = len(elements) * HOURS * 3_600.0 / asked.step_s
        yield _figure(f"{name}_objects", len(elements), "objects")
        yield _figure(f"{name}_time", seconds, f"s for {HOURS:g} h")
        yield _figure(f"{name}_states", states / seconds, "states/s") | {
            "peer": f"SGP4 alone, one process: {rate:.0f} states/s",
            "ratio": round(states / seconds / rate, 2),
        }
        yield _figure(f"{name}_conjunctions", len(found), f"below {THRESHOLD_M / 1000:g} km")


def _catalog() -> list[Elements]:
    paths = catalogs()
    if paths:
        file = read_catalog(catalog_text(paths[len(paths) // 2]))
        if file.refusals:
            raise SystemExit(f"screening: {len(file.refusals)} sets of the real catalog were refused; it is not whole")
        return list(file.elements)
    return _filled([_low_orbit()], 16_000)


def _low_orbit() -> Elements:
    return Elements(
        norad=1, designator=None, name="made up", epoch_ns=START_NS, inclination_deg=53.0, raan_deg=0.0,
        eccentricity=0.0005, argument_of_perigee_deg=0.0, mean_anomaly_deg=0.0, mean_motion_rev_day=15.2, bstar=1e-4,
    )  # fmt: skip


def _filled(real: Sequence[Elements], count: int) -> list[Elements]:
    """The catalog with copies of its own objects on turned and shifted orbits, as many as are wanted."""
    random = np.random.default_rng(1)
    chosen = random.integers(0, len(real), count - len(real))
    angles = random.uniform(0.0, 360.0, (len(chosen), 2))
    wide = random.uniform(0.995, 1.005, len(chosen))
    made_up = [
        replace(
            real[index],
            norad=900_000 + number,
            raan_deg=float(angles[number, 0]),
            mean_anomaly_deg=float(angles[number, 1]),
            mean_motion_rev_day=real[index].mean_motion_rev_day * float(wide[number]),
        )
        for number, index in enumerate(chosen)
    ]
    return [*real, *made_up]


def _sgp4_rate(elements: Sequence[Elements]) -> float:
    propagator = Propagator(elements)
    times = START_NS + np.arange(30) * 60_000_000_000
    started = time.perf_counter()
    propagator.states_km(times)
    return len(elements) * len(times) / (time.perf_counter() - started)


def _tell(progress: Progress) -> None:
    if progress.done % max(1, progress.parts // 10) == 0:
        print(f"  part {progress.done} of {progress.parts}, {progress.found} approaches", flush=True)


def _figure(name: str, value: float, unit: str) -> dict[str, object]:
    return {"bench": "screening", "figure": name, "value": round(value, 1), "unit": unit}


if __name__ == "__main__":
    for figure in run():
        print(figure)
