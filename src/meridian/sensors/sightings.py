"""How many sightings observations are: repeats of one object by one sensor within a while count once.

It only counts. Nothing that fusion needs is left out here: several arrays that see one object are what it works with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meridian.sensors.columns import ObservationColumns

_Key = tuple[str, str | None]


class Sightings:
    """Counts sightings by our own time. What it remembers is bounded: nothing older than twice the window.

    :param window_ns: so long a repeat is the same sighting.
    """

    def __init__(self, window_ns: int) -> None:
        self._window_ns = window_ns
        self._last: dict[_Key, int] = {}
        self._pruned_ns = 0
        self.count = 0
        """Sightings so far."""

    @property
    def remembered(self) -> int:
        """For how many sensors and objects a sighting is remembered."""
        return len(self._last)

    def see(self, columns: ObservationColumns, now_ns: int) -> None:
        """These were taken in together."""
        self._prune(now_ns)
        pairs = zip(columns.source_ids.to_pylist(), columns.object_ids.to_pylist(), strict=True)
        for key in dict.fromkeys(pairs):
            if now_ns - self._last.get(key, -self._window_ns) >= self._window_ns:
                self._last[key] = now_ns
                self.count += 1

    def _prune(self, now_ns: int) -> None:
        if now_ns - self._pruned_ns >= self._window_ns:
            self._last = {key: seen for key, seen in self._last.items() if now_ns - seen < self._window_ns}
            self._pruned_ns = now_ns
