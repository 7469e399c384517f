"""The logs of one source of the edge, and what lies in them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from holdfast.flow import Backpressure, EdgePlan
from holdfast.log import DeadLetterEntry, DeadLetterLog, Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from meridian.sensors import Observation, ObservationColumns, SourceKind, columns_of, to_observations
from meridian.sensors.landing import Landing, Repeats


def room(items: int) -> EdgePlan:
    """An edge for so many."""
    return EdgePlan(items, Backpressure("The test waits."))


class Logs:
    """The logs of one source."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._stack = ExitStack()

    def landing(self, kind: SourceKind, *, quota: int | None = None) -> Landing:
        name = f"obs.{kind.prefix}"
        inbox = Inbox.open(self.directory / name, name=name, epoch=1, quota=quota, flush_interval=0.005)
        raw = Inbox.open(self.directory / "raw", name=f"raw.{kind.prefix}", epoch=1, flush_interval=0.005)
        dead = DeadLetterLog.open(self.directory / "dead", epoch=1)
        executor = ThreadPoolExecutor(1)
        for each in (raw, dead, inbox):
            self._stack.callback(each.close)
        self._stack.callback(executor.shutdown)
        repeats = Repeats.KEPT if kind is SourceKind.RADAR else Repeats.LEFT_OUT
        return Landing(inbox=inbox, dead=dead, executor=executor, raw=raw, repeats=repeats)

    def close(self) -> None:
        self._stack.close()

    def rows(self, name: str) -> ObservationColumns | None:
        """What lies in an inbox, heartbeats included; None when nothing does."""
        with InboxReader.open(self.directory / name) as reader:
            batches = [batch.select(CAPTURED.names) for batch in reader.read(0)]
        if not batches:
            return None
        return columns_of(pa.concat_batches(batches))

    def observations(self, kind: SourceKind) -> list[Observation]:
        found = self.rows(f"obs.{kind.prefix}")
        return [] if found is None else to_observations(found)

    def raw(self) -> bytes:
        with InboxReader.open(self.directory / "raw") as reader:
            return b"".join(value for batch in reader.read(0) for value in batch["payload"].to_pylist())

    def dead(self) -> list[DeadLetterEntry]:
        with DeadLetterLog.open(self.directory / "dead", epoch=1) as dead:
            return list(dead.entries())
