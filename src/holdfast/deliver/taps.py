"""Lets somebody look at a few of the rows that a lane brings, without holding it up.

A tap has room for so many rows; what comes when it is full is counted and not kept. With nobody looking, a delivery
costs one look at an empty tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class Tap:
    """Room for a few rows."""

    def __init__(self, rows: int) -> None:
        self._room = rows
        self._tables: list[pa.Table] = []
        self._came = Condition()
        self.missed = 0
        """Rows for which there was no room."""

    def take(self, rows: pa.Table) -> None:
        """Keep what there is room for."""
        with self._came:
            kept = min(self._room, rows.num_rows)
            if kept:
                self._tables.append(rows.slice(0, kept))
                self._came.notify_all()
            self._room -= kept
            self.missed += rows.num_rows - kept

    def wait(self, seconds: float) -> list[pa.Table]:
        """What came, as soon as there is something; nothing when nothing came in time."""
        with self._came:
            self._came.wait_for(lambda: bool(self._tables), seconds)
            return list(self._tables)


class Taps:
    """Those who look at one lane."""

    def __init__(self) -> None:
        self._open: tuple[Tap, ...] = ()

    @contextmanager
    def opened(self, rows: int) -> Iterator[Tap]:
        """Look at so many of the rows that come next."""
        tap = Tap(rows)
        self._open = (*self._open, tap)
        try:
            yield tap
        finally:
            self._open = tuple(each for each in self._open if each is not tap)

    def offer(self, rows: pa.Table) -> None:
        """The sink has taken these rows."""
        for tap in self._open:
            tap.take(rows)
