"""Leaves out of an answer what earlier answers had: the archive is asked again from a little before the mark. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from meridian.sensors.screening import Candidates

if TYPE_CHECKING:
    from meridian.sensors.screening import Refusal


class Overlap:
    """What earlier answers had, as far back as is asked for again; so it is bounded.

    :param mark_ns: the newest time that was taken in.
    """

    def __init__(self, length_ns: int, mark_ns: int) -> None:
        self._length_ns = length_ns
        self.mark_ns = mark_ns
        self._seen: dict[bytes, int] = {}
        """The ids of records, and their times."""
        self._refused: frozenset[Refusal] = frozenset()
        """What the last answer held that is none: it comes again while it is asked for."""

    def fresh(self, answer: Candidates, now_ns: int) -> Candidates:
        """What is new. The mark moves, also over records that will be refused, but never into our future.

        One telescope whose clock is off by years would otherwise keep all others from being asked for.
        """
        ids = [each.tobytes() for each in answer.columns.records["observation_id"]]
        times = answer.columns.records["sensor_ts_ns"].tolist()
        is_new = np.fromiter((each not in self._seen for each in ids), bool, len(ids))
        self.mark_ns = max([self.mark_ns, *(min(time, now_ns) for time in times)])
        self._remember(ids, times)
        refused = tuple(each for each in answer.refused if each not in self._refused)
        self._refused = frozenset(answer.refused)
        raw = [each for each, is_chosen in zip(answer.raw, is_new, strict=True) if is_chosen]
        return Candidates(answer.columns.where(is_new), raw, refused=refused)

    def _remember(self, ids: list[bytes], times: list[int]) -> None:
        self._seen.update(zip(ids, times, strict=True))
        oldest = self.mark_ns - self._length_ns
        self._seen = {each: time for each, time in self._seen.items() if time >= oldest}
