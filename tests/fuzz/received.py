"""Readers of what is sent or given to us: pushes, documents, catalogs, messages, sensor formats, log files, alerts."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable

import numpy as np
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from holdfast.capture.http import jsons, otlp
from holdfast.capture.http.gunzip import Gunzip
from holdfast.capture.tailing.content import Gzipped
from holdfast.capture.tailing.records import Framing
from holdfast.config.document import load
from holdfast.config.units import parse_duration, parse_size
from holdfast.model.encoding import Encoding
from holdfast.model.errors import HoldfastError
from holdfast.model.positions.codec import parse
from meridian.documents import parse as parse_toml
from meridian.fusion.subscriber.server import NotAWord, words_of
from meridian.operation.home import MeridianDocument
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
from meridian.service.edge import understood
from tests.fuzz.reader import Reader, of_text
from tests.support.cdm_text import MESSAGE, as_xml
from tests.support.command_line import DOCUMENT

AT = 1_760_000_000_123_456_789
ISS = parse_tle(
    "1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927",
    "2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537",
    "ISS",
)


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


def _export(content_type: str) -> Callable[[bytes], object]:
    return lambda data: otlp.Logs.decoders[content_type](data)


def _gunzip(data: bytes) -> None:
    gunzip = Gunzip(10**6)
    assert sum(len(gunzip.feed(data[at : at + 100])) for at in range(0, len(data), 100)) <= 10**6
    gunzip.finish()


def _isl(data: bytes) -> None:
    bodies, _ = Splitter().feed(data)
    isl_frame.decode(bodies, AT)


def _positions(text: str) -> None:
    kind, _, rest = text.partition(" ")
    parse(kind, rest)


def _compressed_log(data: bytes) -> None:
    """A rotated log file; what it unpacks to beyond 10 MB is not read here."""
    descriptor = os.memfd_create("log")
    os.write(descriptor, data)
    content = Gzipped(descriptor)
    try:
        content.at(0, 10_000_000)
        assert content.damage is not None or content.size is not None or len(content.at(9_999_999, 1))
    finally:
        content.close()


def _lines(framing: Framing) -> Callable[[bytes], object]:
    """Every byte belongs to one record, in order."""

    def read(data: bytes) -> None:
        block = np.frombuffer(data, np.uint8)
        ends = framing.ends(block, is_all=True)
        assert (np.diff(ends) > 0).all()
        assert (ends[-1] if len(ends) else 0) == len(data)
        framing.is_first(block)

    return read


def _edge(data: bytes) -> None:
    health, _, metrics = data.partition(b"\n")
    understood(health, metrics)


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
_ALERT = b'{"alert_id": "a", "sequence": 1, "kind": "insert", "miss_m": 10.5}\n'
_SENSOR = {
    **dict.fromkeys(("taken", "durable", "repeated", "heartbeats", "bytes_written", "log_end"), 7),
    "kind": "Radar",
    "source_watermark_seconds": 1.5,
    "ingest_rate": 2.5,
    "consumer_lag": {"fusion": 3},
    "channel_occupancy": {"count": 1, "capacity": 9},
    "circuit_breaker_state": 0,
    "retry_attempts_total": 0,
}
_HEALTH = {"status": "ok", "sources": {"radar-7": {"alive": True, "why": None, "alarms": {"drops": "1 of 2"}}}}
_METRICS = {
    "sources": {"radar-7": _SENSOR},
    "operators": {"landing": {"operator_restart_total": 0, "operator_uptime_seconds": 2.5}},
}
_EDGE = f"{json.dumps(_HEALTH)}\n{json.dumps(_METRICS)}".encode()
_YAML = ("holdfast.config.document", "holdfast.config.syntax", "holdfast.config.references")

RECEIVED: dict[str, Reader] = {
    "catalog": Reader(
        _catalog,
        (
            _TLE,
            _pair(format_kvn, **_OMM),
            _pair(format_xml, **_OMM),
            format_json([ISS, ISS]).encode(),
            format_csv([ISS, ISS]).encode(),
        ),
        (
            *("meridian.orbit.catalog", "meridian.orbit.tle", "meridian.orbit.omm", "meridian.orbit.omm_files"),
            *("meridian.orbit.ndm", "meridian.orbit.numerals", "meridian.orbit.texts", "meridian.orbit.time"),
            "meridian.orbit.omm_writing",
        ),
        (HoldfastError, NotText),
    ),
    "conjunction message": Reader(
        _cdm,
        (MESSAGE.encode(), as_xml(MESSAGE).encode()),
        ("meridian.orbit.cdm.reading", "meridian.orbit.cdm.message", "meridian.orbit.ndm"),
        (HoldfastError, NotText),
    ),
    "push json": Reader(jsons.values, (b'[{"a": [1, -2.5e3, null]}, "b\\n"]',), ("holdfast.capture.http.jsons",)),
    "push lines": Reader(jsons.lines, (b'{"a": 1}\n\n  "b"\r\n[]\n',), ("holdfast.capture.http.jsons",)),
    "push otlp json": Reader(
        _export("application/json"), (json.dumps(_EXPORT).encode(),), ("holdfast.capture.http.otlp",)
    ),
    "push otlp protobuf": Reader(
        _export("application/x-protobuf"), (_otlp_sample().SerializeToString(),), ("holdfast.capture.http.otlp",)
    ),
    "push gzip": Reader(
        _gunzip,
        (gzip.compress(b"abc" * 1000, mtime=0) + gzip.compress(b"", mtime=0),),
        ("holdfast.capture.http.gunzip",),
    ),
    "log file gzip": Reader(
        _compressed_log, (gzip.compress(b"a line\n" * 1000, mtime=0),), ("holdfast.capture.tailing.content",)
    ),
    "log lines": Reader(
        _lines(Framing(first_line="[0-9]")), (b"1 first\n  more\n2 second\r\n",), ("holdfast.capture.tailing.records",)
    ),
    "log lines utf-16": Reader(
        _lines(Framing(Encoding.UTF_16_LE, "[0-9]")),
        ("1 first\n  more\n2 second\r\n".encode("utf-16-le"),),
        ("holdfast.capture.tailing.records",),
    ),
    "pipeline yaml": Reader(
        of_text(lambda text: load(text, environment={"HOME": "/root"})), (DOCUMENT.encode(),), _YAML
    ),
    "edge toml": Reader(
        of_text(lambda text: parse_toml(EdgeDocument, text, "edge.toml")),
        (b'[optical]\nendpoint = "http://a.example/o"\npoll_interval_ms = 5000\n[sink]\noutput_dir = "logs"\n',),
        ("meridian.documents",),
    ),
    "operation toml": Reader(
        of_text(lambda text: parse_toml(MeridianDocument, text, "meridian.toml")),
        (b"[sites.radar-1]\nlatitude_deg = 1.0\nlongitude_deg = 2.0\n[fusion]\nradius_m = 5.0\n",),
        ("meridian.documents",),
    ),
    "radar frames": Reader(
        lambda data: radar_frame.decode(data[: len(data) // 64 * 64], AT),
        (_RADAR.to_bytes() * 2,),
        ("meridian.sensors.radar_frame",),
    ),
    "inter-satellite frames": Reader(_isl, (_BEACON.to_bytes() * 2,), ("meridian.sensors.isl_frame",)),
    "optical records": Reader(
        lambda data: optical_record.decode(data, AT),
        (json.dumps([_OPTICAL] * 2).encode(),),
        ("meridian.sensors.optical_record",),
    ),
    "observation line": Reader(
        of_text(observation_of),
        (_OBSERVATION.to_json().encode(),),
        ("meridian.sensors.event_log", "meridian.sensors.observation"),
    ),
    "alert words": Reader(words_of, (_ALERT * 2,), ("meridian.fusion.subscriber.server",), (NotAWord,)),
    "answers of an edge": Reader(_edge, (_EDGE,), ("meridian.service.edge",), ()),
    "position text": Reader(
        of_text(_positions),
        (b"lsn 0/16B3748", b"gtid_set 3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5:7", b"kafka 0:1,1:2"),
        ("holdfast.model.positions.codec",),
    ),
    "duration": Reader(of_text(parse_duration), (b"1h30m", b"1.5s"), ("holdfast.config.units",), (ValueError,)),
    "size": Reader(of_text(parse_size), (b"16 MiB", b"1.5KiB"), ("holdfast.config.units",), (ValueError,)),
}
