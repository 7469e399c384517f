"""The home of an operation with dead letters in it, of the edge and of fusion, and neither of them running."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from holdfast import BatchLimits, Budget, Pipeline, SinkSpec, Sqlite, Until, batches
from holdfast.log import DeadLetterEntry, DeadLetterLog, Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.testing import LocalProcessor
from meridian.fusion import spark
from meridian.operation.home import Home
from meridian.sensors import EdgeLog, columns_of, events_of, heartbeat, to_observations
from meridian.sensors.config import load
from meridian.sensors.landing import dead_letter
from meridian.sensors.letters import FOLDER, LIMITS
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import RadarFrame
from meridian.sensors.second_look import kind_of_log, screen_of, second_look
from tests.support.fusion_pipeline import Pairs
from tests.support.made_up_objects import EPOCH

RADAR, OPTICAL, ISL = "obs.radar-1", "obs.optical", "obs.isl"
DOCUMENT = """
[sink]
output_dir = "{directory}"
[radar]
bind_addrs = ["127.0.0.1:0"]
[optical]
endpoint = "http://127.0.0.1:9/none"
[isl]
listen_addr = "127.0.0.1:0"
[control_plane]
bind_addr = "127.0.0.1:0"
"""
FRAME = RadarFrame(
    array_id=1, target_track_id=90_000, timestamp_ns=EPOCH, range_m=9e5, range_rate_m_s=1.0, azimuth_rad=1.0,
    elevation_rad=0.5, sigma_range_m=10.0, sigma_rate_m_s=0.1,
)  # fmt: skip


def frame(second: int, **changes: object) -> bytes:
    """A frame of array 1 about the first object, so many seconds after the epoch."""
    return replace(FRAME, timestamp_ns=EPOCH + second * 10**9, **changes).to_bytes()  # type: ignore[arg-type]


class LettersHome:
    """An operation whose edge has three logs."""

    def __init__(self, directory: Path) -> None:
        self.home = Home(directory)
        self.write_document()
        for name in (RADAR, OPTICAL, ISL):
            with self.log(name):
                pass
        with self.dead():
            pass

    def write_document(self, more: str = "") -> None:
        """How the edge is to be run from now on."""
        self.home.directory.mkdir(parents=True, exist_ok=True)
        self.home.edge_file.write_text(DOCUMENT.format(directory=self.home.edge) + more)

    def log(self, name: str) -> Inbox:
        return Inbox.open(self.home.edge / name, name=name, epoch=1, flush_interval=0.0)

    def dead(self) -> DeadLetterLog:
        return DeadLetterLog.open(self.home.edge / FOLDER, epoch=1, limits=LIMITS)

    def came(self, log: str, payload: bytes, *, second: int = 0) -> None:
        """What an edge that runs would do with these bytes, so many seconds after the epoch."""
        kind, now = kind_of_log(log), EPOCH + second * 10**9
        assert kind is not None
        screened = second_look(kind, payload, screen_of(load(self.home.edge_file)), now)
        with self.dead() as dead:
            dead.put([dead_letter(refusal, log, now) for refusal in screened.refused])
        if len(screened.good):
            with self.log(log) as inbox:
                inbox.push(events_of(screened.good, log)).result()

    def beats(self, log: str = RADAR) -> None:
        """A source that has nothing says so."""
        with self.log(log) as inbox:
            inbox.push(events_of(heartbeat(SourceKind.RADAR, log, through_ns=EPOCH, now_ns=EPOCH), log)).result()

    def put(self, entries: Iterable[DeadLetterEntry]) -> None:
        with self.dead() as dead:
            dead.put(list(entries))

    def ids(self, log: str) -> list[str]:
        """The observations in a log of the edge."""
        return ids_in(self.home.edge / log)

    def pipeline(self, home: Home | None = None) -> Pipeline:
        """Fusion without a JVM: what it knows becomes a row for each observation."""
        home = home or self.home
        table = Sqlite(home.directory / "seen.db", table="seen")
        return (
            Pipeline("fusion", directory=home.pipeline)
            .read(WhatIsThere(self.home.edge, RADAR, consumer="fusion"))
            .write(SinkSpec(name="seen", sink=table))
            .batch(BatchLimits(max_events=1000, max_wait=timedelta(0)))
            .restarts(Budget(failures=1))
        )

    def fuse(self, pairs: Pairs, home: Home | None = None) -> None:
        """Run it with this catalog until it has taken everything."""
        whole = self.pipeline(home)
        whole.start(processor=lambda: LocalProcessor(_seen, step=batches(Known(pairs))))
        try:
            assert whole.wait(until=Until.CAUGHT_UP, timeout=60), whole.status()
            whole.drain()
        finally:
            if whole.engine.is_open:
                whole.stop()

    def rows(self, home: Home | None = None) -> list[str]:
        """The objects that fusion has rows of, in the order of their observations."""
        with sqlite3.connect((home or self.home).directory / "seen.db") as db:
            return [key for (key,) in db.execute("SELECT key FROM seen ORDER BY CAST(position AS INTEGER)")]


class WhatIsThere(EdgeLog):
    """A log of an edge that does not run: at its end there is nothing to wait for."""

    @property
    def finished(self) -> bool:
        return self._log is not None and self._at == self._log.end()


@dataclass(frozen=True)
class Known:
    """Fusion's step of this name, but what it knows goes on as it is."""

    pairs: Pairs

    def __call__(self, events: pa.RecordBatch) -> pa.RecordBatch:
        spark.Known(self.pairs)(events)
        return events


def _seen(events: pa.Table) -> pa.Table:
    return events.select(["seq", "source", "event_id", "position", "key"])


def ids_in(inbox: Path) -> list[str]:
    """The observations in an inbox."""
    with InboxReader.open(inbox) as reader:
        found = [columns_of(batch.select(CAPTURED.names)) for batch in reader.read(0)]
    return [each.observation_id for columns in found for each in to_observations(columns)]
