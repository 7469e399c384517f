"""Parts what a sensor sent into observations and refusals, by rules that look at all rows at once. Pure.

A rule finds faults; it never raises because of what it looks at. The first fault of a row is its reason, and its bytes
are kept with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from meridian.sensors.columns import ObservationColumns


class ErrorKind(StrEnum):
    """Why a record can never be taken in: the kinds of dead letters that the edge writes."""

    DESERIALIZATION = "Deserialization"
    """It has the right size, and its bytes mean nothing."""
    SCHEMA_MISMATCH = "SchemaMismatch"
    """It is of a version, or has fields, that this program does not know."""
    VALIDATION_FAILED = "ValidationFailed"
    """It can be read, and what it says cannot be."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One record that is not taken in, with the bytes it came as."""

    kind: ErrorKind
    reason: str
    payload: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Fault:
    """What is wrong with some rows."""

    kind: ErrorKind
    reason: str
    rows: npt.NDArray[np.bool_]
    values: Sequence[object] | npt.NDArray[np.generic] | None = None
    """What each row says instead, where that helps."""

    def reason_of(self, row: int) -> str:
        """The reason, with what the row says."""
        return self.reason if self.values is None else f"{self.reason}: {self.values[row]}"


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """What was decoded, not yet looked at. Columns, raw bytes and object numbers belong together row by row."""

    columns: ObservationColumns
    raw: Sequence[bytes]
    objects: npt.NDArray[np.uint32] | None = None
    """The numbers of the objects in the catalog, 0 where the sensor names none; None when it never does."""
    faults: tuple[Fault, ...] = ()
    """What the decoder found wrong with rows."""
    refused: tuple[Refusal, ...] = ()
    """What could not become a row at all."""


Rule = Callable[[Candidates], Iterable[Fault]]
"""Finds what is wrong with candidates."""


@dataclass(frozen=True, slots=True, eq=False)
class Screened:
    """What became of candidates: every row is in one of the three."""

    good: ObservationColumns
    refused: tuple[Refusal, ...] = ()
    outside: int = 0
    """Observations outside of the area of interest, left out on purpose."""


@dataclass(frozen=True, slots=True)
class Screen:
    """The way from candidates to observations. There is no other, so nothing passes the rules by."""

    rules: Sequence[Rule] = ()
    interest: Callable[[ObservationColumns], npt.NDArray[np.bool_]] | None = field(default=None)
    """Which observations anybody wants; all when there is none."""

    def __call__(self, candidates: Candidates) -> Screened:
        """Apply every rule, then the area of interest."""
        faults = [*candidates.faults, *(fault for rule in self.rules for fault in rule(candidates))]
        is_bad = np.zeros(len(candidates.columns), bool)
        for fault in faults:
            is_bad |= fault.rows
        refused = [_refusal(candidates, faults, int(row)) for row in np.flatnonzero(is_bad)]
        good = candidates.columns.where(~is_bad)
        wanted = np.ones(len(good), bool) if self.interest is None else self.interest(good)
        return Screened(good.where(wanted), (*candidates.refused, *refused), int(np.count_nonzero(~wanted)))


class FixedFrames(Sequence[bytes]):
    """Frames of one size that lie one behind the other; a frame becomes an object only when it is asked for."""

    def __init__(self, data: bytes | memoryview, size: int) -> None:
        self._data = memoryview(data)
        self._size = size

    def __len__(self) -> int:
        return len(self._data) // self._size

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override] # nobody asks for a slice of frames
        return bytes(self._data[place * self._size : (place + 1) * self._size])


def _refusal(candidates: Candidates, faults: Sequence[Fault], row: int) -> Refusal:
    fault = next(fault for fault in faults if fault.rows[row])
    return Refusal(fault.kind, fault.reason_of(row), candidates.raw[row])
