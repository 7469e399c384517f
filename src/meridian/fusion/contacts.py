"""Contacts: from when to when an object was seen in one go, and by whom. Pure, in columns.

A contact begins with the first slice in which an object is observed and goes on while it is observed again before the
gap is too long. It also ends when it has lasted as long as it may: a beacon that never falls silent, or a sensor that
is stuck, keeps none open for ever. It is made of slices that no window needs any more, in their order, late
observations included; so it depends on what was seen in which slice and on nothing else, and is told once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum

import numpy as np
import numpy.typing as npt

from meridian.fusion.evidence import Evidence
from meridian.fusion.exact import Integers


class End(Enum):
    """Why a contact is over."""

    GAP = "gap"
    """The object was not seen for so long."""
    MAXIMUM = "maximum"
    """It has lasted as long as it may; the next one follows on it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a contact ends, in slices.

    :param gap: so many without an observation end it.
    :param longest: so many it lasts at the most.
    """

    gap: int = 10
    longest: int = 120


@dataclass(frozen=True, slots=True)
class Contacts:
    """One row for each object.

    :param objects: numbers in the catalog, rising.
    :param first: the slice it began in; `last`, the last with an observation.
    :param counts: how many observations it is made of.
    :param newest: the time of the last one.
    :param sources: who made them, a bit for each sensor.
    """

    objects: Integers
    first: Integers
    last: Integers
    counts: Integers
    newest: Integers
    sources: Integers

    @classmethod
    def none(cls) -> Contacts:
        """Nobody was seen."""
        return cls(*(np.empty(0, np.int64) for _ in fields(cls)))

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, rows: npt.NDArray[np.bool_]) -> Contacts:
        return Contacts(*(getattr(self, each.name)[rows] for each in fields(self)))

    def after(self, settled: Evidence, *, before: int, limits: Limits) -> tuple[Contacts, Ended]:
        """The contacts that go on when this was seen, too, and those that are over.

        :param settled: of slices after those that were told before.
        :param before: the slice before which nothing more will come.
        """
        contacts, ended = self, list[tuple[End, Contacts]]()
        for slice_ in np.unique(settled.slices).tolist():
            seen = settled.since(slice_).before(slice_ + 1)
            contacts, silent = _parted(contacts, contacts.last + limits.gap < slice_)
            is_seen = np.isin(contacts.objects, seen.objects)
            contacts, long = _parted(contacts, is_seen & (slice_ - contacts.first >= limits.longest))
            contacts = _together(contacts, seen)
            ended += [(End.GAP, silent), (End.MAXIMUM, long)]
        contacts, silent = _parted(contacts, contacts.last + limits.gap < before)
        return contacts, [(end, over) for end, over in [*ended, (End.GAP, silent)] if len(over)]


Ended = Sequence[tuple[End, Contacts]]
"""Contacts that are over, by why."""


def _parted(contacts: Contacts, is_over: npt.NDArray[np.bool_]) -> tuple[Contacts, Contacts]:
    return contacts[~is_over], contacts[is_over]


def _together(contacts: Contacts, seen: Evidence) -> Contacts:
    """With what was seen in one slice, too: whoever is in contact stays so, the others begin."""
    objects = np.union1d(contacts.objects, seen.objects)
    old, new = (np.searchsorted(objects, each) for each in (contacts.objects, seen.objects))
    first, last, counts, newest, sources = (np.zeros(len(objects), np.int64) for _ in range(5))
    last[old], newest[old] = contacts.last, contacts.newest
    first[new] = last[new] = seen.slices
    first[old] = contacts.first
    newest[new] = np.maximum(newest[new], seen.newest)
    counts[old], sources[old] = contacts.counts, contacts.sources
    counts[new] += seen.counts
    sources[new] |= seen.sources
    return Contacts(objects, first, last, counts, newest, sources)
