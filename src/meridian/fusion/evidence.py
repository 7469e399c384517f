"""What observations say of objects, added up by object and slice of time. Pure, in columns.

Adding is exact, so it does not show in which order observations came, how they were cut into batches, or whether some
were added up elsewhere first: tasks add up what they have, and one place adds up the tasks. Which observations are in
a sum is kept as a count and a digest, the sum of a number for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from meridian.fusion.exact import Floats, Integers, Sums, joined

Digests = npt.NDArray[np.uint64]
_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row for each slice and object, in this order.

    :param objects: numbers in the catalog.
    :param sums: one column for each number that is added up.
    :param counts: how many observations are in the sums.
    :param digests: which ones.
    :param newest: the time of the newest, in nanoseconds.
    :param received: when that one came in.
    :param sources: who made them, a bit for each sensor.
    """

    slices: Integers
    objects: Integers
    sums: Sums
    counts: Integers
    digests: Digests
    newest: Integers
    received: Integers
    sources: Integers

    @classmethod
    def of(
        cls,
        slices: Integers,
        objects: Integers,
        numbers: Floats,
        digests: Digests,
        times: Integers,
        sources: Integers | None = None,
        received: Integers | None = None,
    ) -> Evidence:
        """What single observations say, one row each, in any order; they came in at once when nobody says otherwise."""
        sources = np.zeros(len(slices), np.int64) if sources is None else sources
        received = times if received is None else received
        ones = np.ones(len(slices), np.int64)
        return _added_up(slices, objects, Sums.of(numbers), ones, digests, times, received, sources)

    @classmethod
    def nothing(cls, columns: int) -> Evidence:
        """No observation at all."""
        none = np.empty(0, np.int64)
        return cls.of(none, none, np.empty((0, columns)), none.astype(np.uint64), none)

    def __len__(self) -> int:
        return len(self.slices)

    def __add__(self, other: Evidence) -> Evidence:
        """What both say. Neither may hold an observation of the other."""
        if not len(other):
            return self
        border = int(other.slices[0])
        both = self.since(border)._followed_by(other)
        return self.before(border)._followed_by(_added_up(*(getattr(both, each.name) for each in fields(Evidence))))

    def _followed_by(self, other: Evidence) -> Evidence:
        """The rows of both, one behind the other."""
        return Evidence(
            np.concatenate([self.slices, other.slices]),
            np.concatenate([self.objects, other.objects]),
            joined(self.sums, other.sums),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.digests, other.digests]),
            np.concatenate([self.newest, other.newest]),
            np.concatenate([self.received, other.received]),
            np.concatenate([self.sources, other.sources]),
        )

    def __getitem__(self, rows: npt.NDArray[np.bool_] | slice) -> Evidence:
        return replace(
            self,
            slices=self.slices[rows],
            objects=self.objects[rows],
            sums=self.sums[rows],
            counts=self.counts[rows],
            digests=self.digests[rows],
            newest=self.newest[rows],
            received=self.received[rows],
            sources=self.sources[rows],
        )

    def since(self, slice_: int) -> Evidence:
        """What was seen in this slice and later ones."""
        return self[int(np.searchsorted(self.slices, slice_)) :]

    def before(self, slice_: int) -> Evidence:
        """What was seen in earlier slices."""
        return self[: int(np.searchsorted(self.slices, slice_))]

    def about(self, objects: Integers) -> Evidence:
        """What was seen of these objects."""
        return self[np.isin(self.objects, objects)]


def _added_up(
    slices: Integers,
    objects: Integers,
    sums: Sums,
    counts: Integers,
    digests: Digests,
    newest: Integers,
    received: Integers,
    sources: Integers,
) -> Evidence:
    order = np.lexsort((objects, slices))
    slices, objects = slices[order], objects[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(slices) != 0) | (np.diff(objects) != 0)
    starts = np.flatnonzero(is_first)
    newest, received = _newest(newest[order], received[order], starts)
    return Evidence(
        slices[starts],
        objects[starts],
        sums[order].grouped(starts),
        np.add.reduceat(counts[order], starts) if len(starts) else counts,
        np.add.reduceat(digests[order], starts) if len(starts) else digests,
        newest,
        received,
        np.bitwise_or.reduceat(sources[order], starts) if len(starts) else sources,
    )


def _newest(times: Integers, received: Integers, starts: Integers) -> tuple[Integers, Integers]:
    """The time of the newest observation of each group, and when it came in; the later, if two are of one time."""
    if not len(starts):
        return times, received
    newest: Integers = np.maximum.reduceat(times, starts)
    is_newest = times == np.repeat(newest, np.diff(starts, append=len(times)))
    return newest, np.maximum.reduceat(np.where(is_newest, received, _NEVER), starts)
