"""The home of an operation as fusion and the edge leave it, made with the real sinks and logs, and without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from holdfast.log import DeadLetterEntry, DeadLetterLog, Digest, Inbox, NewBatch, Outbox, Published
from holdfast.model.positions import Position, Seq
from holdfast.runtime.layout import Layout
from meridian.fusion.outputs import ALERTS, CONJUNCTIONS, OBJECTS, OUTPUTS, PROGRESS, WORDS
from meridian.fusion.pipeline import tables
from meridian.operation.home import Home
from meridian.sensors import ObservationColumns, events_of
from meridian.sensors.meters import LAG_BOUNDS_S
from tests.support.sink_lanes import batch_of, identity

SECOND = 1_000_000_000
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
NOON_NS = int(NOON.timestamp()) * SECOND

Rows = Mapping[str, object]


class ServiceHome:
    """What a service reads.

    :param times: by which the outbox writes down when batches are published; noon, and a second more each, as told.
    """

    def __init__(self, directory: Path) -> None:
        self.home = Home(directory)
        self.now = NOON
        self._held = ExitStack()
        self._sinks = {spec.name: spec.sink for spec in tables(directory)}
        for name, sink in self._sinks.items():
            sink.open(identity(lane=name))
            self._held.callback(sink.close)
        layout = Layout(self.home.pipeline)
        self.outbox = self._held.enter_context(Outbox.open(layout.outbox, epoch=1, clock=lambda: self.now))
        self.dead = self._held.enter_context(DeadLetterLog.open(layout.dead_letters, epoch=1, clock=lambda: self.now))
        self._inboxes: dict[str, Inbox] = {}
        self._oseq = 0

    def close(self) -> None:
        self._held.close()

    def batch(self, rows: Mapping[str, Sequence[Rows]], ends: Mapping[str, int] | None = None) -> Published:
        """One batch of fusion: published, and delivered to every table.

        :param rows: by table.
        :param ends: up to which event of each inbox it goes.
        """
        self._oseq += 1
        uuids = {self._inboxes[log].uuid: end for log, end in (ends or {}).items()}
        made = self.outbox.publish(
            NewBatch(
                batch_id=self._oseq - 1,
                query_id="q",
                fingerprint="f",
                starts={},
                ends=uuids,
                positions={},
                parts=(),
                digest=Digest(0, 0),
            )
        )
        given = {**rows, WORDS: rows.get(ALERTS.table, ())}
        schemas = {output.table: output.schema for output in OUTPUTS} | {WORDS: ALERTS.schema}
        for name, sink in self._sinks.items():
            table = pa.Table.from_pylist([dict(row) for row in given.get(name, ())], schemas[name])
            sink.deliver(batch_of(self._oseq, table))
        self.now += timedelta(seconds=1)
        return made

    def inbox(self, log: str) -> Inbox:
        """The inbox of fusion for a log of the edge."""
        if log not in self._inboxes:
            place = Layout(self.home.pipeline).inbox(log)
            self._inboxes[log] = self._held.enter_context(Inbox.open(place, name=log, epoch=1))
        return self._inboxes[log]

    def edge_log(self, name: str) -> Inbox:
        """A log of the edge."""
        return self._held.enter_context(Inbox.open(self.home.edge / name, name=name, epoch=1))

    def bury(self, kind: str, count: int, stage: str = "step:known") -> None:
        """So many dead letters of fusion."""
        known = self.dead.count()
        self.dead.put([letter(kind, stage, known + number, self.now) for number in range(count)])


def letter(kind: str, stage: str, number: int, time: datetime) -> DeadLetterEntry:
    """A dead letter."""
    return DeadLetterEntry(
        entry_id=f"{number:032x}",
        time=time,
        pipeline="fusion",
        stage=stage,
        oseq=0,
        ordinal=number,
        event_id=None,
        error_kind=kind,
        error_code="MD-201",
        message="nobody knows it",
        attempts=1,
        position=None,
        event_schema_version=None,
        payload=b"",
        checksum=0,
    )


def land(log: Inbox, columns: ObservationColumns, position: Position | None = None) -> None:
    """Observations as the edge appends them."""
    log.append(events_of(columns, log.name), position=position or Seq(log.end() + len(columns)))


_RISK = {
    "encounter_ns": NOON_NS + 3600 * SECOND,
    "closest_ns": NOON_NS + 3600 * SECOND,
    "miss_m": 400.0,
    "speed_m_s": 9000.0,
    "probability": 1e-4,
    "radius_m": 10.0,
    "plane_x_m": 400.0,
    "plane_y_m": 0.0,
    "spread_xx_m2": 1e4,
    "spread_yy_m2": 4e4,
    "spread_xy_m2": 10.0,
}


def conjunction_row(number: int = 0, **given: object) -> Rows:
    """A row of the conjunctions."""
    row = {"conjunction_id": f"c{number}", "version": 0, "stage": "raised", "object_a": "90001", "object_b": "90002"}
    return {**row, **_RISK, "windows": 1, "watermark_ns": NOON_NS, **given}


def word_row(number: int = 0, **given: object) -> Rows:
    """A row of the alerts, which is a word too."""
    row: Rows = {
        "alert_id": f"a{number}",
        "version": 0,
        "kind": "insert",
        "sequence": 0,
        "object_a": "90001",
        "object_b": "90002",
        "window_end_ns": NOON_NS,
        "is_early": True,
        "watermark_ns": NOON_NS - 40 * SECOND,
        **_RISK,
        "observed_a": 3,
        "observed_b": 4,
        "digest_a": -1,
        "digest_b": 7,
        "newest_ns": NOON_NS - 2 * SECOND,
        "batch": 1,
        "caused_ns": NOON_NS - 2 * SECOND,
        "received_ns": NOON_NS - SECOND,
    }
    return {**row, **given}


def object_row(name: str = "90001", **given: object) -> Rows:
    """A row of the objects."""
    upper = [float(place) for place in range(21)]
    place = {"x_m": 1.0, "y_m": 2.0, "z_m": 3.0, "vx_m_s": 4.0, "vy_m_s": 5.0, "vz_m_s": 6.0, "covariance": upper}
    row = {"object_id": name, "version": 1, "status": "tracked", "sources": '["radar-1", "isl"]', "observations": 9}
    return {**row, "epoch_ns": NOON_NS, "last_seen_ns": NOON_NS - 1, **place, **given}


def progress_row(batch: int = 1, *, sources: Sequence[Rows] = (), **given: object) -> Rows:
    """A row of the progress."""
    counts = {"taken": 10, "late": 0, "dropped": 0, "closed": 0, "told": 0, "retracted": 0, "tracks": 2}
    row = {"slot": batch, "batch": batch, "received_ns": NOON_NS, "watermark_ns": NOON_NS - 40 * SECOND}
    shape = {"active": 2, "retained": 1, "state_bytes": 1000, "sources": json.dumps(list(sources))}
    return {**row, **counts, **shape, **given}


def source_row(source: str = "radar", **given: object) -> Rows:
    """What a row of the progress says of a network."""
    row = {"source": source, "watermark_ns": NOON_NS - 40 * SECOND, "observations": 10, "source_lag_s": 0.064}
    lags = [0] * (len(LAG_BOUNDS_S) + 1)
    lags[6] = 10
    return {**row, "oldest_received_ns": NOON_NS - 2 * SECOND, "clock_ahead": 0, "source_lags": lags, **given}


TABLES = (ALERTS.table, CONJUNCTIONS.table, OBJECTS.table, PROGRESS.table, WORDS)
