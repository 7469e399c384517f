"""A counter with labels, in this process. Whoever exports metrics reads it; it knows no exporter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from threading import Lock

Labels = tuple[tuple[str, str], ...]


class LabelledCounter:
    """Counts events by labels, as `recovery_path_total{path="local"}`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = Lock()
        self._counts: Counter[Labels] = Counter()

    def add(self, **labels: str) -> None:
        """Count one event."""
        with self._lock:
            self._counts[tuple(sorted(labels.items()))] += 1

    def value(self, **labels: str) -> int:
        """How many events with exactly these labels were counted."""
        with self._lock:
            return self._counts[tuple(sorted(labels.items()))]

    def values(self) -> Mapping[Labels, int]:
        """All counts by their labels."""
        with self._lock:
            return dict(self._counts)


def recovery_path_total() -> LabelledCounter:
    """The counter that `recover` counts its routes in; a process has one."""
    return LabelledCounter("recovery_path_total")
