"""What a slice of time was made of: a summary when its window closes, added to by what comes late. Pure.

Two figures of one slice treat late observations differently. What was there on time is counted once, when the window
closes, and stays: who is late is dropped from it. What was seen at all accumulates, for as long as the window is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from meridian.fusion.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Summary:
    """One slice.

    :param on_time: observations that were there when the window of the slice closed.
    :param observations: all that came before the window was gone.
    :param objects: that were seen.
    :param version: how often late observations have changed it.
    """

    slice_: int
    on_time: int
    observations: int
    objects: int
    version: int = 0


@dataclass(frozen=True, slots=True)
class Summaries:
    """Those that late observations may still change, by slice."""

    known: Mapping[int, Summary] = field(default_factory=dict)

    def after(self, evidence: Evidence, *, were_open: int, are_open: int) -> tuple[Summaries, list[Summary]]:
        """The summaries when this is what is kept, and those that are new or changed.

        :param were_open: the first window that was open before; what closed earlier has no news but late ones.
        :param are_open: the first window that is open now.
        """
        known, news = dict[int, Summary](), list[Summary]()
        closed = evidence.before(are_open)
        slices, starts = np.unique(closed.slices, return_index=True)
        counts = np.add.reduceat(closed.counts, starts) if len(starts) else closed.counts
        objects = np.diff([*starts.tolist(), len(closed)])
        for slice_, count, seen in zip(slices.tolist(), counts.tolist(), objects.tolist(), strict=True):
            before = self.known.get(slice_)
            if before is None:
                known[slice_] = Summary(slice_, count if slice_ >= were_open else 0, count, seen)
            elif count != before.observations:
                known[slice_] = replace(before, observations=count, objects=seen, version=before.version + 1)
            else:
                known[slice_] = before
            if known[slice_] is not before:
                news.append(known[slice_])
        return Summaries(known), news
