"""The passages that a catalog foresees: which pairs come close, and when, by their elements alone.

They are found by screening the catalog, an hour of time at once, when they are first asked for. What was found is kept
beside the catalog, so that nobody has to look for it again: not another process, and not the same one after a restart.
"""

from __future__ import annotations

import io
import os
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np

from meridian.fusion.exact import Floats, Integers
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND
from meridian.orbit.elements import Elements
from meridian.orbit.screening import Approach, Screening, screen

HOUR = 3600 * SECOND
_KEPT = 64
"""Hours that are held in memory."""


class Foresight(Protocol):
    """Knows the passages of a catalog."""

    def within(self, start: int, end: int, objects: Integers) -> Foreseen:
        """Those behind one time and up to another, both of whose objects are among these (in order)."""
        ...


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Passages of pairs by the catalog alone, by time; `first` and `second` are numbers in the catalog.

    :param times: of the closest approach, in nanoseconds.
    :param first_states: of the first object then, n by 6.
    :param radii: of both together, in metres.
    """

    times: Integers
    first: Integers
    second: Integers
    first_states: Floats
    second_states: Floats
    radii: Floats

    @classmethod
    def of(cls, references: References, times: Integers, first: Integers, second: Integers, radii: Floats) -> Foreseen:
        """Passages at these times, in any order."""
        order = np.lexsort((second, first, times))
        times, first, second = times[order], first[order], second[order]
        return cls(times, first, second, references.apart(first, times), references.apart(second, times), radii[order])

    @classmethod
    def screened(cls, references: References, approaches: Sequence[Approach], radii: Floats) -> Foreseen:
        """What a screening of the catalog found.

        :param radii: of the catalog's objects, by number.
        """
        found = [(approach.tca_ns, approach.first, approach.second) for approach in approaches]
        times, first, second = np.array(found, np.int64).reshape(-1, 3).T
        return cls.of(references, times, first, second, radii[first] + radii[second])

    def __len__(self) -> int:
        return len(self.times)

    def within(self, start: int, end: int, objects: Integers) -> Foreseen:
        """Those behind one time and up to another, both of whose objects are among these (in order)."""
        rows = np.arange(*np.searchsorted(self.times, [start, end], side="right"))
        rows = rows[_among(self.first[rows], objects) & _among(self.second[rows], objects)]
        return Foreseen(
            self.times[rows],
            self.first[rows],
            self.second[rows],
            self.first_states[rows],
            self.second_states[rows],
            self.radii[rows],
        )

    @classmethod
    def joined(cls, parts: Sequence[Foreseen]) -> Foreseen:
        """Several, one behind the other in time."""
        columns = ("times", "first", "second", "first_states", "second_states", "radii")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in columns))


class Hourly:
    """Passages found hour by hour.

    :param radii: of the catalog's objects, by number.
    :param threshold: in metres; wider than what is told of, since no object is where its elements have it.
    :param directory: where what was found is kept; None keeps nothing.
    """

    def __init__(
        self,
        references: References,
        elements: Sequence[Elements],
        radii: Floats,
        threshold: float,
        directory: Path | None = None,
    ) -> None:
        self._references, self._elements, self._radii = references, elements, radii
        self._threshold, self._directory = threshold, directory
        self._hours: OrderedDict[int, Foreseen] = OrderedDict()

    def within(self, start: int, end: int, objects: Integers) -> Foreseen:
        """Those behind one time and up to another, both of whose objects are among these (in order)."""
        return Foreseen.joined(
            [self.hour(number).within(start, end, objects) for number in range(start // HOUR, end // HOUR + 1)]
        )

    def hour(self, number: int) -> Foreseen:
        """All passages of one hour since 1970."""
        if number not in self._hours:
            self._hours[number] = self._found(number)
            while len(self._hours) > _KEPT:
                self._hours.popitem(last=False)
        return self._hours[number]

    def _found(self, number: int) -> Foreseen:
        kept = self._directory / f"{number}.npz" if self._directory is not None else None
        if kept is not None and (known := _read(kept)) is not None:
            times, first, second = known
        else:
            times, first, second = self._screened(number)
            if kept is not None:
                _write(kept, times, first, second)
        return Foreseen.of(self._references, times, first, second, self._radii[first] + self._radii[second])

    def _screened(self, number: int) -> tuple[Integers, Integers, Integers]:
        screening = Screening(number * HOUR, (number + 1) * HOUR, self._threshold, processes=1)
        found = [approach for approach in screen(self._elements, screening) if approach.tca_ns < screening.end_ns]
        rows = [(approach.tca_ns, approach.first, approach.second) for approach in found]
        times, first, second = np.array(rows, np.int64).reshape(-1, 3).T
        return times, first, second


def _read(path: Path) -> tuple[Integers, Integers, Integers] | None:
    """What was found before; None when nothing is there, or what is there cannot be read and is to be found again."""
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            return file["times"], file["first"], file["second"]
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, BadZipFile, zlib.error):
        return None


def _write(path: Path, times: Integers, first: Integers, second: Integers) -> None:
    """Several processes may find the same at the same time: each writes a file of its own and puts it in place."""
    written = io.BytesIO()
    np.savez(written, times=times, first=first, second=second)
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_suffix(f".{os.getpid()}.tmp")
    own.write_bytes(written.getvalue())
    own.replace(path)


def _among(numbers: Integers, objects: Integers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(objects):
        return np.zeros(len(numbers), np.bool_)
    nearest = objects[np.minimum(np.searchsorted(objects, numbers), len(objects) - 1)]
    return np.equal(nearest, numbers)
