"""Sums of many numbers that do not depend on the order in which the numbers came.

A sum of floating-point numbers does, in its last digits, and digits decide whether two runs say the same. Here each
number is first rounded to a multiple of 2**-40, and such multiples are added as whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_DIGITS = 40
"""Binary digits behind the point. The others of a word have room for the carry of eight million numbers."""
_UNIT = 1 << _DIGITS
LARGEST = float(1 << 52)
"""No number that is added may be larger: beyond it a float has no digit left for the whole part of its neighbours."""


@dataclass(frozen=True, slots=True)
class Sums:
    """Exact sums, one for each row and column: a whole part, and a part behind the point from 0 to below 1."""

    whole: Integers
    part: Integers

    @classmethod
    def of(cls, numbers: Floats) -> Sums:
        """The numbers themselves, rounded to what can be kept."""
        if numbers.size and not np.abs(numbers).max() <= LARGEST:  # also when one is not a number
            raise ValueError(f"a number to be summed is not a number, or larger than {LARGEST:.0f}")
        whole = np.floor(numbers)
        part = np.rint((numbers - whole) * _UNIT).astype(np.int64)
        return _carried(whole.astype(np.int64), part)

    def grouped(self, starts: Integers) -> Sums:
        """The sums of runs of rows, each from its start to the next one."""
        if not len(starts):
            return Sums(self.whole[:0], self.part[:0])
        return _carried(np.add.reduceat(self.whole, starts), np.add.reduceat(self.part, starts))

    def numbers(self) -> Floats:
        """What the sums amount to."""
        return self.whole + self.part / _UNIT

    def __add__(self, other: Sums) -> Sums:
        return _carried(self.whole + other.whole, self.part + other.part)

    def __getitem__(self, rows: npt.NDArray[np.bool_] | Integers | slice) -> Sums:
        return Sums(self.whole[rows], self.part[rows])


def joined(first: Sums, second: Sums) -> Sums:
    """The rows of one, then those of the other."""
    return Sums(np.concatenate([first.whole, second.whole]), np.concatenate([first.part, second.part]))


def _carried(whole: Integers, part: Integers) -> Sums:
    return Sums(whole + (part >> _DIGITS), part & (_UNIT - 1))
