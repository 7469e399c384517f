"""Every reader of what comes from outside, with texts that it takes: what is given to it is made of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from holdfast.capture.http import jsons, otlp
from holdfast.capture.http.gunzip import Gunzip
from holdfast.checkpoint.commitlog import document as commits
from holdfast.checkpoint.commitlog.legacy import read_legacy
from holdfast.checkpoint.commitlog.model import Document as CommitDocument
from holdfast.checkpoint.contract import TypedKey, value_of
from holdfast.checkpoint.operators.dedup import InputCut, SparseEntry
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.checkpoint.replication import replica
from holdfast.config.document import load
from holdfast.config.units import parse_duration, parse_size
from holdfast.ledger.cursors import Cursors, CursorsCodec
from holdfast.log.cutting import position_of_text
from holdfast.model.errors import HoldfastError
from holdfast.model.positions import Lsn, to_json
from holdfast.model.positions.codec import parse
from holdfast.runtime.records import GENERATION, HISTORY, LOGS, Generation, Logs
from holdfast.runtime.restarts import History, HistoryCodec
from meridian.documents import parse as parse_toml
from meridian.orbit.catalog import read_catalog
from meridian.orbit.cdm import read_cdm, write_cdm
from meridian.orbit.omm_writing import format_csv, format_json, format_kvn, format_xml
from meridian.orbit.texts import NotText, decoded
from meridian.orbit.tle import format_tle, parse_tle
from meridian.sensors import isl_frame, optical_record, radar_frame
from meridian.sensors.config import EdgeDocument
from meridian.sensors.event_log import observation_of
from meridian.sensors.isl_frame import Beacon, Splitter
from meridian.sensors.observation import ClockQuality, Observation, RangeRate, Uncertainty
from tests.support.cdm_text import MESSAGE, as_xml
from tests.support.command_line import DOCUMENT

AT = 1_760_000_000_123_456_789
ISS = parse_tle(
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
    "ISS",
)


@dataclass(frozen=True)
class Reader:
    """A reader, the errors by which it refuses, and inputs that it takes."""

    read: Callable[[bytes], object]
    samples: tuple[bytes, ...]
    refusals: tuple[type[Exception], ...] = (HoldfastError,)


def _catalog(data: bytes) -> None:
    """What is read is written in the form of our own catalog, and read back equal."""
    elements = read_catalog(decoded(data)).elements
    if elements:
        again = read_catalog(format_json(elements))
        assert (again.refusals, len(again.elements)) == ((), len(elements))
        assert [each.epoch_ns for each in again.elements] == [each.epoch_ns for each in elements]
        assert [each.name for each in again.elements] == [each.name for each in elements]


def _cdm(data: bytes) -> None:
    message = read_cdm(decoded(data))
    assert read_cdm(write_cdm(message)).first.values == message.first.values
    assert message.hard_body_radius_m is None or message.hard_body_radius_m >= 0


def _pushed(door_type: str) -> Callable[[bytes], object]:
    return lambda data: otlp.Logs.decoders[door_type](data)


def _gunzip(data: bytes) -> None:
    gunzip = Gunzip(10**6)
    assert sum(len(gunzip.feed(data[at : at + 100])) for at in range(0, len(data), 100)) <= 10**6
    gunzip.finish()


def _isl(data: bytes) -> None:
    bodies, _ = Splitter().feed(data)
    isl_frame.decode(bodies, AT)


def _positions(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    kind, _, rest = text.partition(" ")
    parse(kind, rest)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _stored(key: TypedKey[object]) -> Callable[[bytes], object]:
    return lambda data: value_of(key, data)


def _otlp_sample() -> ExportLogsServiceRequest:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=AT, trace_id=bytes(16))
    record.body.string_value = "line"
    record.attributes.add(key="a").value.double_value = 1.5
    return request


_RECORD = {
    "timeUnixNano": str(AT),
    "traceId": "0" * 32,
    "body": {"stringValue": "line"},
    "attributes": [{"key": "a", "value": {"doubleValue": 1.5}}],
}
_EXPORT = {"resourceLogs": [{"scopeLogs": [{"logRecords": [_RECORD]}]}]}


def _pair(form: Callable[..., str], **how: object) -> bytes:
    return (form(ISS, **how) * 2).encode()


_TLE = "\n".join(["ISS", *format_tle(ISS)] * 2).encode()
_OMM = {"originator": "US", "created_ns": ISS.epoch_ns}
_OBSERVATION = Observation(
    observation_id="1",
    source_id="radar-7",
    source_kind="Radar",
    sensor_ts_ns=AT,
    ingest_ts_ns=AT,
    target=RangeRate(1e6, -5.0, 0.1, 0.2),
    uncertainty=Uncertainty(1.0),
    clock_quality=ClockQuality("GpsLocked"),
)
_BEACON = Beacon(
    satellite_id=900,
    beacon=17,
    timestamp_ns=AT,
    position_m=(7e6, 1.5, -2.5),
    velocity_m_s=(0.25, 7.5e3, -1.0),
    sigma_m=2.5,
)
_RADAR = radar_frame.RadarFrame(
    array_id=7,
    target_track_id=25544,
    timestamp_ns=AT,
    range_m=1e6,
    range_rate_m_s=-5.0,
    azimuth_rad=0.1,
    elevation_rad=0.2,
    sigma_range_m=1.0,
    sigma_rate_m_s=0.1,
)
_OPTICAL = {"obs_id": "a", "timestamp_ns": AT, "ra_rad": 0.1, "dec_rad": 0.2, "sigma_arcsec": 1.0, "site_id": "maui"}
_SNAPSHOT = OperatorSnapshot(
    Cut("op", 3, {"in": InputCut(5, "x", 0, (SparseEntry(7, 0, "y"),))}, 9), (memoryview(b"ab"), memoryview(b""))
)
_COMMIT = CommitDocument(
    number=7, epoch=1, created_at=datetime(2026, 1, 1, tzinfo=UTC), nonce="n", chains={}, doubt=None, reigns=(),
    payloads={"a": b"payload"},
)  # fmt: skip
_CURSORS = Cursors(
    delivered={"lane": 4}, committed=3, positions={"a": Lsn(7)}, joining={}, gaps={}, rollbacks=0, stop=None
)

READERS: dict[str, Reader] = {
    "catalog": Reader(
        _catalog,
        (
            _TLE,
            _pair(format_kvn, **_OMM),
            _pair(format_xml, **_OMM),
            format_json([ISS, ISS]).encode(),
            format_csv([ISS, ISS]).encode(),
        ),
        (HoldfastError, NotText),
    ),
    "cdm": Reader(_cdm, (MESSAGE.encode(), as_xml(MESSAGE).encode()), (HoldfastError, NotText)),
    "push json": Reader(jsons.values, (b'[{"a": [1, -2.5e3, null]}, "b\\n"]',)),
    "push lines": Reader(jsons.lines, (b'{"a": 1}\n\n  "b"\r\n[]\n',)),
    "push otlp json": Reader(
        _pushed("application/json"),
        (json.dumps(_EXPORT).encode(),),
    ),
    "push otlp protobuf": Reader(_pushed("application/x-protobuf"), (_otlp_sample().SerializeToString(),)),
    "push gzip": Reader(_gunzip, (gzip.compress(b"abc" * 1000, mtime=0) + gzip.compress(b"", mtime=0),)),
    "pipeline yaml": Reader(
        _text(lambda text: load(text, environment={"HOME": "/root"})),
        (DOCUMENT.encode(),),
    ),
    "edge toml": Reader(
        _text(lambda text: parse_toml(EdgeDocument, text, "edge.toml")),
        (b'[optical]\nendpoint = "http://a.example/o"\npoll_interval_ms = 5000\n[sink]\noutput_dir = "logs"\n',),
    ),
    "radar frames": Reader(lambda data: radar_frame.decode(data[: len(data) // 64 * 64], AT), (_RADAR.to_bytes() * 2,)),
    "inter-satellite frames": Reader(_isl, (_BEACON.to_bytes() * 2,)),
    "optical records": Reader(lambda data: optical_record.decode(data, AT), (json.dumps([_OPTICAL] * 2).encode(),)),
    "observation line": Reader(
        lambda data: observation_of(data.decode("utf-8", "replace")), (_OBSERVATION.to_json().encode(),)
    ),
    "position text": Reader(
        _positions, (b"lsn 0/16B3748", b"gtid_set 3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7", b"kafka 0:1,1:2")
    ),
    "stored position": Reader(
        lambda data: position_of_text(data.decode("utf-8", "replace")), (json.dumps(to_json(Lsn(7))).encode(),)
    ),
    "duration": Reader(_text(parse_duration), (b"1h30m", b"1.5s"), (ValueError,)),
    "size": Reader(_text(parse_size), (b"16 MiB", b"1.5KiB"), (ValueError,)),
    "commit document": Reader(lambda data: commits.decode(data, number=7, where="here"), (commits.encode(_COMMIT),)),
    "commit marker": Reader(lambda data: commits.check_marker(data, where="here"), (commits.encode_marker(),)),
    "checkpoints of format 0": Reader(lambda data: read_legacy(data, where="here"), (b'{"a": {"b": [1]}}',)),
    "operator snapshot": Reader(SnapshotCodec().decode, (SnapshotCodec().encode(_SNAPSHOT),)),
    "replica manifest": Reader(replica.decode, (b'{"format":1,"epoch":1,"cut":2,"entries":{"a":[1,2,3]}}',)),
    "stored cursors": Reader(_stored(TypedKey("cursors", CursorsCodec())), (CursorsCodec().encode(_CURSORS),)),
    "stored logs": Reader(_stored(LOGS), (LOGS.codec.encode(Logs({"a": "b"}, "c")),)),
    "stored generation": Reader(_stored(GENERATION), (GENERATION.codec.encode(Generation(1, {"a": 2})),)),
    "stored runs": Reader(_stored(HISTORY), (HistoryCodec().encode(History()),)),
}
