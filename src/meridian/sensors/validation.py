"""The rules for what can be: physics, angles, and which sensors and objects there are. Pure, over columns.

What cannot even be read is the decoders' affair. Where an observation lies is that of `area`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meridian.sensors.columns import Form
from meridian.sensors.screening import ErrorKind, Fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from meridian.sensors.screening import Candidates, Rule

LIGHT_M_S = 299_792_458.0
EARTH_POLAR_RADIUS_M = 6_356_752.3
"""Nothing in orbit is nearer to the centre than this, wherever it is."""
_HALF_TURN, _TURN = np.pi / 2, 2 * np.pi


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which numbers a measurement can be true."""

    max_range_m: float = 1e9
    max_range_rate_m_s: float = 15_000.0
    """No object that is bound to the Earth, or passes it, comes nearer or goes away faster."""


class UnknownObjects(Enum):
    """What becomes of an observation of an object that the catalog does not have."""

    REFUSE = "refuse"
    ACCEPT = "accept"
    """A new fragment is seen before it is catalogued."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """Which objects there are, by their catalog numbers, and which are no longer in service."""

    known: frozenset[int] | None = None
    """None when any number may be an object."""
    decommissioned: frozenset[int] = field(default=frozenset())
    unknown: UnknownObjects = UnknownObjects.REFUSE

    def faults(self, candidates: Candidates) -> Iterator[Fault]:
        """Objects that are not there, or no longer."""
        objects = candidates.objects
        if objects is None:
            return
        is_named = objects != 0
        yield _failed("the object is decommissioned", is_named & _among(objects, self.decommissioned), objects)
        if self.known is not None and self.unknown is UnknownObjects.REFUSE:
            is_known = _among(objects, self.known | self.decommissioned)
            yield _failed("the object is not in the catalog", is_named & ~is_known, objects)


@dataclass(frozen=True, slots=True)
class Sensors:
    """Which sensors may speak."""

    known: frozenset[str]

    def faults(self, candidates: Candidates) -> Iterator[Fault]:
        """Sensors that nobody has announced."""
        source_ids = candidates.columns.source_ids
        is_known = pc.is_in(source_ids, pa.array(sorted(self.known), pa.string())).to_numpy(zero_copy_only=False)
        yield _failed("the sensor is not known", ~is_known, source_ids)


@dataclass(frozen=True, slots=True)
class Physics:
    """What a measurement can say."""

    bounds: Bounds = field(default_factory=Bounds)

    def faults(self, candidates: Candidates) -> Iterator[Fault]:
        """Numbers that cannot be, by the form of the measurement."""
        records = candidates.columns.records
        values, form = records["values"], records["form"]
        yield _failed("the uncertainty is not a positive number", ~(records["sigma"] > 0), records["sigma"])
        with np.errstate(over="ignore", invalid="ignore"):
            for checked, checks in (
                (Form.RANGE_RATE, self._radar(values)),
                (Form.ANGULAR, _angles(values)),
                (Form.STATE_VECTOR, _state(values)),
            ):
                for reason, is_right, said in checks:
                    yield _failed(reason, (form == checked) & ~is_right, said)

    def _radar(self, values: npt.NDArray[np.float64]) -> Iterator[_Check]:
        range_m, rate, azimuth, elevation = values[:, 0], values[:, 1], values[:, 2], values[:, 3]
        is_near = (range_m > 0) & (range_m <= self.bounds.max_range_m)
        yield "the range is out of bounds", is_near, range_m
        yield "the range rate is out of bounds", np.abs(rate) <= self.bounds.max_range_rate_m_s, rate
        yield "the azimuth is no angle of a circle", np.abs(azimuth) <= _TURN, azimuth
        yield "the elevation is not between nadir and zenith", np.abs(elevation) <= _HALF_TURN, elevation


_Check = tuple[str, "npt.NDArray[np.bool_]", "npt.NDArray[np.float64]"]
"""A reason, which rows are right, and what each says."""


def standard_rules(catalog: Catalog, sensors: Sensors | None = None, bounds: Bounds | None = None) -> tuple[Rule, ...]:
    """The rules of the edge, the cheapest reason first."""
    rules: list[Rule] = [Physics(bounds or Bounds()).faults, catalog.faults]
    return tuple([sensors.faults, *rules] if sensors else rules)


def _angles(values: npt.NDArray[np.float64]) -> Iterator[_Check]:
    right_ascension, declination = values[:, 0], values[:, 1]
    yield "the right ascension is no angle of a circle", np.abs(right_ascension) <= _TURN, right_ascension
    yield "the declination is not between the poles", np.abs(declination) <= _HALF_TURN, declination


def _state(values: npt.NDArray[np.float64]) -> Iterator[_Check]:
    radius, speed = np.linalg.norm(values[:, :3], axis=1), np.linalg.norm(values[:, 3:], axis=1)
    yield "the position is below the surface of the Earth", radius >= EARTH_POLAR_RADIUS_M, radius
    yield "the speed is not below that of light", speed < LIGHT_M_S, speed


def _among(numbers: npt.NDArray[np.uint32], chosen: Iterable[int]) -> npt.NDArray[np.bool_]:
    return np.isin(numbers, np.fromiter(chosen, np.uint32))


def _failed(reason: str, rows: npt.NDArray[np.bool_], said: npt.NDArray[np.generic] | pa.Array) -> Fault:
    return Fault(ErrorKind.VALIDATION_FAILED, reason, rows, said)
