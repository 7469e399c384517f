"""Leaves out what the network sent twice: the observations of the last seconds are remembered by their ids.

Half an id has 60 bits that are not always the same. Among 250,000 that are remembered, 50,000 new ones a second are
taken for one of them by chance once in three years; that is less often than a datagram is lost on any network.

Nothing of it is saved. The log has every observation with its id and the time at which it was taken in, which is all
that is remembered here, so what is in the log is both the state and how far it goes: whoever starts again reads the
last seconds of it. What was taken and had not become durable before a kill is not remembered, and is taken if it comes
again.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from holdfast.log import InboxReader
from holdfast.model.envelope import CAPTURED
from meridian.sensors.columns import Row
from meridian.sensors.events import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy.typing as npt

    from meridian.sensors.columns import ObservationColumns

IDS_KEPT = 250_000
"""Five seconds of ten times what the network sends in a burst."""


class RecentIds:
    """A stage of the landing. Before it looks, it forgets: what is too old, then what is too much.

    :param window_ns: so long an id is remembered after it was first seen, by our clock.
    :param most: never more than so many.
    """

    def __init__(self, window_ns: int, most: int = IDS_KEPT) -> None:
        self._window_ns = window_ns
        self._most = most
        self._known: set[int] = set()
        self._pieces: deque[tuple[int, list[int]]] = deque()
        """What was new at a time, the oldest first."""

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, columns: ObservationColumns, now_ns: int) -> ObservationColumns:
        """Those that are not remembered; they are from now on."""
        return columns.where(self.new(columns.digests(), now_ns))

    def new(self, digests: npt.NDArray[np.uint64], now_ns: int) -> npt.NDArray[np.bool_]:
        """Which of these are not remembered, nor earlier among them."""
        self._forget_until(now_ns - self._window_ns)
        parts = [self._new(digests[start : start + self._most], now_ns) for start in range(0, len(digests), self._most)]
        return np.concatenate(parts) if parts else np.empty(0, bool)

    def _new(self, digests: npt.NDArray[np.uint64], now_ns: int) -> npt.NDArray[np.bool_]:
        """The same for no more than may be remembered."""
        self._make_room(len(digests))
        given: list[int] = digests.tolist()
        fresh = set(given)
        if len(fresh) == len(given) and self._known.isdisjoint(fresh):
            self._remember(given, now_ns)
            return np.ones(len(given), bool)
        firsts = {digest: place for place, digest in reversed(list(enumerate(given))) if digest not in self._known}
        places = sorted(firsts.values())
        self._remember([given[place] for place in places], now_ns)
        is_new = np.zeros(len(given), bool)
        is_new[places] = True
        return is_new

    def _remember(self, digests: list[int], now_ns: int) -> None:
        if digests:
            self._known.update(digests)
            self._pieces.append((now_ns, digests))

    def _forget_until(self, until_ns: int) -> None:
        while self._pieces and self._pieces[0][0] <= until_ns:
            self._known.difference_update(self._pieces.popleft()[1])

    def _make_room(self, wanted: int) -> None:
        """Forget the oldest, until there is room for so many should all of them be new."""
        while (excess := len(self._known) + wanted - self._most) > 0:
            at_ns, oldest = self._pieces.popleft()
            self._known.difference_update(islice(oldest, excess))
            if len(oldest) > excess:
                self._pieces.appendleft((at_ns, oldest[excess:]))


def recent_ids(log: Path, *, window_ns: int, now_ns: int, most: int = IDS_KEPT) -> RecentIds:
    """What is to be remembered of a log: what was taken in during the last seconds, and is durable."""
    recent = RecentIds(window_ns, most)
    with InboxReader.open(log) as reader:
        after = max(reader.first() - 1, reader.end() - most)
        for batch in reader.read(after):
            _remember(recent, columns_of(batch.select(CAPTURED.names)), now_ns - window_ns)
    return recent


def _remember(recent: RecentIds, columns: ObservationColumns, until_ns: int) -> None:
    taken_ns = columns.records["ingest_ts_ns"]
    columns = columns.where((taken_ns > until_ns) & (columns.records["row"] == Row.OBSERVATION))
    for at_ns, digests in _together(columns):
        recent.new(digests, at_ns)


def _together(columns: ObservationColumns) -> Iterable[tuple[int, npt.NDArray[np.uint64]]]:
    """The ids of those that follow each other and were taken in at one time, with that time."""
    taken_ns = columns.records["ingest_ts_ns"]
    ends = np.flatnonzero(np.diff(taken_ns)) + 1
    for digests, times in zip(np.split(columns.digests(), ends), np.split(taken_ns, ends), strict=True):
        if len(digests):
            yield int(times[0]), digests
