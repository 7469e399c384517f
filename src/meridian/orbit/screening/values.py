"""What is screened, for what, and what is found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from meridian.orbit.errors import InvalidScreening


@dataclass(frozen=True, slots=True)
class Screening:
    """Which approaches to look for, and in which steps.

    `step_s` is how often pairs are looked for; `node_s` how often SGP4 is asked, between which states are interpolated.
    Neither changes what is found, only how fast.
    """

    start_ns: int
    end_ns: int
    threshold_m: float
    step_s: float = 40.0
    node_s: float = 120.0
    processes: int = 2

    def __post_init__(self) -> None:
        if not (self.start_ns < self.end_ns and self.threshold_m > 0.0 and self.processes > 0):
            raise _invalid("The horizon, the threshold and the number of processes must be above zero.")
        if not 0.0 < self.step_s <= self.node_s <= 180.0:
            raise _invalid(f"Steps of {self.step_s} s and nodes of {self.node_s} s are not within 0 and 180 s.")


@dataclass(frozen=True, slots=True, order=True)
class Approach:
    """Two objects, by their place in the catalog, at a time when their distance is smallest and below the threshold."""

    tca_ns: int
    first: int
    second: int
    miss_m: float
    speed_m_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a screening is: parts of the horizon that are done, and approaches found in them."""

    done: int
    parts: int
    found: int


Report = Callable[[Progress], None]


def _invalid(what: str) -> InvalidScreening:
    return InvalidScreening(what, remedy="Ask for a horizon that ends after it begins, and for steps within a minute.")
