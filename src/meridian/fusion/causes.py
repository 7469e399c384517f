"""Which observation had a word said: the newest that the batch brought of the pair in the window. Pure.

What holds of a window does not depend on how its observations came, but when something is said of it does. A word that
no observation of its batch is behind is said because its window was closed, and has no cause in this sense.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from meridian.fusion.emissions import Meeting
from meridian.fusion.evidence import Evidence
from meridian.fusion.judging import Sky


@dataclass(frozen=True, slots=True, order=True)
class Cause:
    """One observation.

    :param made: its time, by the clock of its sensor; `received`, when it came in by ours. In nanoseconds since 1970.
    """

    made: int
    received: int


def causes_of(meetings: Iterable[Meeting], fresh: Evidence, sky: Sky) -> dict[Meeting, Cause]:
    """The cause of what is said of each of these now; those without one are left out.

    :param fresh: what the batch brought.
    """
    wanted = set(meetings)
    brought = _brought(fresh, {name for meeting in wanted for name in (meeting.a, meeting.b)}, sky)
    causes = {}
    for meeting in wanted:
        slices = (meeting.window - 1, meeting.window)
        of = [
            brought[slice_, name] for slice_ in slices for name in (meeting.a, meeting.b) if (slice_, name) in brought
        ]
        if of:
            causes[meeting] = max(of)
    return causes


def _brought(fresh: Evidence, names: set[str], sky: Sky) -> dict[tuple[int, str], Cause]:
    """The newest observation of each of these objects in each slice."""
    objects = np.unique(fresh.objects) if names else np.empty(0, np.int64)
    named = {number: name for number, name in zip(objects.tolist(), sky.names(objects), strict=True) if name in names}
    of = fresh.about(np.array(list(named), np.int64))
    rows = zip(*(column.tolist() for column in (of.slices, of.objects, of.newest, of.received)), strict=True)
    return {(slice_, named[number]): Cause(made, received) for slice_, number, made, received in rows}
