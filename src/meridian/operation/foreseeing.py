"""Looks ahead before fusion needs it: the passages of a catalog in the hours to come, found once and kept."""

from __future__ import annotations

import time
from collections.abc import Callable

from meridian.fusion.foreseen import HOUR
from meridian.fusion.references import References
from meridian.fusion.windows import Windows
from meridian.operation.assembling import FromHome
from meridian.operation.catalog import read_elements
from meridian.operation.home import Home
from meridian.orbit import Propagator

Told = Callable[[str], None]


def foresee(home: Home, assembly: FromHome, told: Told = lambda line: None) -> None:
    """Find the passages that fusion will ask for during the next hour, unless they are known."""
    elements = read_elements(home.catalog)
    hours = round(home.document().fusion.horizon_hours) + 2
    found = assembly.foresight(References(Propagator(elements), Windows()), elements)
    first = time.time_ns() // HOUR
    passages = 0
    for number in range(first, first + hours):
        passages += len(found.hour(number))
        told(f"foreseeing {len(elements):,} objects: {number - first + 1} of {hours} hours, {passages:,} passages")
