"""The log of an edge as a source of a pipeline: every row once, and nothing forgotten that is needed."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.capture import Capture, CaptureState
from holdfast.log import Inbox, InboxReader
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import LogPosition
from meridian.sensors import EdgeLog, columns_of, events_of, heartbeat, radar_frame, to_observations
from meridian.sensors.columns import Row
from meridian.sensors.consumers import Consumer, Retention, declare, declared
from meridian.sensors.observation import SourceKind
from meridian.sensors.radar_frame import RadarFrame

LOG = "obs.radar-1"
AT = 10**18
AN_HOUR = timedelta(hours=1)


def take_in(inbox: Inbox, numbers: range) -> None:
    frames = b"".join(
        RadarFrame(
            array_id=1, target_track_id=5, timestamp_ns=AT + number, range_m=9e5, range_rate_m_s=1.0, azimuth_rad=1.0,
            elevation_rad=0.5, sigma_range_m=1.0, sigma_rate_m_s=1.0,
        ).to_bytes()
        for number in numbers
    )  # fmt: skip
    inbox.push(events_of(radar_frame.decode(frames, AT).columns, LOG)).result()


def opened(directory: Path) -> Inbox:
    return Inbox.open(directory / LOG, name=LOG, epoch=1, flush_interval=0.0)


def test_a_pipeline_takes_every_row_exactly_once_across_its_restarts(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        for start in (0, 10, 20):
            take_in(inbox, range(start, start + 10))
            inbox.push(events_of(heartbeat(SourceKind.RADAR, "radar-1", through_ns=start, now_ns=AT), LOG)).result()
            captured_once(tmp_path, upto=(start + 10) * 11 // 10)
    with InboxReader.open(tmp_path / "pipeline") as reader:
        batches = list(reader.read(0))
    rows = [columns_of(batch.select(CAPTURED.names)) for batch in batches]
    assert [each.sensor_ts_ns - AT for columns in rows for each in to_observations(columns)] == list(range(30))
    assert sum(int((columns.records["row"] == Row.HEARTBEAT).sum()) for columns in rows) == 3
    places = [place for batch in batches for place in batch["position"].to_pylist()]
    assert places == [str(number) for number in range(1, 34)]


def captured_once(directory: Path, upto: int) -> None:
    """A pipeline that starts, takes what there is, and ends."""
    failures: list[BaseException] = []
    with Inbox.open(directory / "pipeline", name=LOG, epoch=1) as inbox:
        capture = Capture(EdgeLog(directory, LOG, consumer="fusion"), inbox, failed=failures.append)
        capture.start()
        while inbox.end() < upto and capture.status().state is not CaptureState.FAILED:
            time.sleep(0.001)
        capture.stop()
        assert (failures, inbox.end()) == ([], upto)


@pytest.mark.req("FLW-12")
def test_the_edge_forgets_what_all_consumers_have_done_and_tells_how_far_each_is_behind(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        retention = Retention(tmp_path, inbox, None, age=timedelta(0), raw_age=AN_HOUR)
        for start in (0, 10, 20):
            take_in(inbox, range(start, start + 10))
        retention.tend()
        assert inbox.retained().first_seq == 1
        EdgeLog(tmp_path, LOG, consumer="fusion").acknowledge(LogPosition(inbox.uuid, 25))
        EdgeLog(tmp_path, LOG, consumer="audit").acknowledge(LogPosition(inbox.uuid, 10))
        retention.tend()
        assert inbox.retained().first_seq == 11
        assert retention.lags() == {"fusion": 5, "audit": 20}
        EdgeLog(tmp_path, LOG, consumer="audit").acknowledge(LogPosition(inbox.uuid, 30))
        retention.tend()
        assert inbox.retained().first_seq == 21


def test_raw_bytes_go_after_their_time(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, Inbox.open(tmp_path / "raw", name="raw", epoch=1, flush_interval=0.0) as raw:
        take_in(raw, range(10))
        Retention(tmp_path, inbox, raw, age=AN_HOUR, raw_age=AN_HOUR).tend()
        assert raw.retained().first_seq == 1
        Retention(tmp_path, inbox, raw, age=AN_HOUR, raw_age=timedelta(0)).tend()
        assert raw.retained().first_seq == 11


def test_raw_bytes_give_way_before_the_quota_slows_the_source_down(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox, Inbox.open(tmp_path / "raw", name="raw", epoch=1, flush_interval=0.0) as raw:
        take_in(raw, range(10))
        quota = 6 * raw.retained().nbytes
        for start in range(10, 50, 10):
            take_in(raw, range(start, start + 10))
        Retention(tmp_path, inbox, raw, age=AN_HOUR, raw_age=AN_HOUR, quota=quota).tend()
        assert raw.retained().nbytes <= quota // 2


@pytest.mark.req("OBS-04")
def test_what_consumers_have_done_is_kept_for_its_time_and_no_longer(tmp_path: Path) -> None:
    now = datetime(2026, 3, 14, tzinfo=UTC)
    with Inbox.open(tmp_path / LOG, name=LOG, epoch=1, flush_interval=0.0, clock=lambda: now) as inbox:
        retention = Retention(tmp_path, inbox, None, age=AN_HOUR, raw_age=AN_HOUR)
        take_in(inbox, range(10))
        now += timedelta(minutes=30)
        take_in(inbox, range(10, 20))
        EdgeLog(tmp_path, LOG, consumer="fusion").acknowledge(LogPosition(inbox.uuid, 20))
        kept = []
        for _ in range(3):
            retention.tend()
            kept.append(inbox.retained().first_seq)
            now += timedelta(minutes=31)
        assert kept == [1, 11, 21]


def test_what_nobody_needs_gives_way_before_the_quota_slows_the_source_down(tmp_path: Path) -> None:
    with opened(tmp_path) as inbox:
        take_in(inbox, range(10))
        one = inbox.retained().nbytes
        retention = Retention(tmp_path, inbox, None, age=AN_HOUR, raw_age=AN_HOUR, quota=6 * one)
        for start in range(10, 50, 10):
            take_in(inbox, range(start, start + 10))
        EdgeLog(tmp_path, LOG, consumer="fusion").acknowledge(LogPosition(inbox.uuid, 10))
        retention.tend()
        assert inbox.retained().first_seq == 11, "what a consumer still needs stays"
        EdgeLog(tmp_path, LOG, consumer="fusion").acknowledge(LogPosition(inbox.uuid, 50))
        retention.tend()
        assert inbox.retained().nbytes <= 3 * one
        assert inbox.retained().first_seq < 50, "what fits half of the quota is kept for its time"


def test_consumers_of_other_logs_are_not_mixed_up(tmp_path: Path) -> None:
    declare(tmp_path, Consumer("obs.radar-1", "fusion"), 5)
    declare(tmp_path, Consumer("obs.radar-11", "fusion"), 7)
    declare(tmp_path, Consumer("obs.radar-1", "fusion"), 6)
    assert declared(tmp_path, "obs.radar-1") == {"fusion": 6}
    assert declared(tmp_path, "obs.radar") == {}


def test_a_consumer_has_a_name_that_can_be_one_of_a_file() -> None:
    with pytest.raises(InvalidSource, match="name of a consumer"):
        Consumer(LOG, "../else.json")
