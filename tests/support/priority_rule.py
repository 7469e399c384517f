"""Which observations are of high priority, in plain Python from the words of the requirement (PRI-01).

It shares no code with the product: what the product calls high is compared with this.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Set

from meridian.sensors import ObservationColumns, Row, SourceKind

WINDOW_NS = 30 * 10**9
NEWS = 5
"""So many samples of an object within the window are news; the next radar sample is not."""


class PriorityRule:
    """Tells high from low for events in the order in which they came."""

    def __init__(self) -> None:
        self._times: dict[str, list[int]] = defaultdict(list)
        self.high = 0

    def is_high(self, columns: ObservationColumns, watched: Set[str]) -> list[bool]:
        """For each event, when these objects are watched."""
        numbers = columns.records[["row", "kind", "sensor_ts_ns"]].tolist()
        named = zip(numbers, columns.object_ids.to_pylist(), strict=True)
        found = [self._is_high(*event, name, watched) for event, name in named]
        self.high += sum(found)
        return found

    def _is_high(self, row: int, kind: int, time_ns: int, name: str | None, watched: Set[str]) -> bool:
        if row == Row.HEARTBEAT or name is None:
            return True
        times = self._times[name]
        recent = len(times) - bisect_right(times, time_ns - WINDOW_NS)
        insort(times, time_ns)
        return kind != SourceKind.RADAR or recent < NEWS or name in watched
