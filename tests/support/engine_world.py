"""A pipeline of made-up orders into a table and an archive, behind a tap, for tests of how a run is interrupted."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from holdfast import BatchLimits, Files, Pipeline, Sqlite
from holdfast.testing import LocalProcessor
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.engine_pipelines import Tap, Watched, impatient, wait_until
from tests.support.local_pipelines import passed

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 660


class World:
    """A table and an archive behind one tap."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.table = Watched(Sqlite(directory / "sink.db", table="orders"))
        self.archive = Watched(Files(directory / "files"))
        self.source = Tap(EVENTS)
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(impatient("table", self.table), impatient("archive", self.archive))
            .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        )

    def bring(self, events: int, *lanes: str) -> None:
        """Open the tap, and wait until so much is published and these lanes have it."""
        self.source.open_to = events
        wait_until(lambda: self.have(events, lanes), f"{lanes} have {events} events")

    def have(self, events: int, lanes: tuple[str, ...]) -> bool:
        newest = self.whole.engine.ground.outbox.newest()
        if newest is None or sum(newest.ends.values()) < events:
            return False
        known = self.whole.status().delivery.lanes
        return all(known[name].cursor == newest.oseq for name in lanes)

    def published(self) -> list[int]:
        newest = self.whole.engine.ground.outbox.last_oseq()
        return list(range(1, newest + 1))

    def check_exact(self) -> None:
        assert table_numbers(self.directory / "sink.db") == passed(EVENTS)
        assert file_numbers(self.directory / "files") == passed(EVENTS)


class Counting(LocalProcessor):
    """Knows how often it has looked for work."""

    looks = 0

    def _next_batch(self, reader: object) -> None:
        super()._next_batch(reader)  # type: ignore[arg-type]
        self.looks += 1
