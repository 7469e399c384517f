"""Asks the edge over HTTP how it is. An edge that says nothing sensible says nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import urlopen

from meridian.sensors import SourceKind
from meridian.service.seen import EdgeSeen, OperatorSeen, SensorSeen

PATIENCE = 2.0
"""Seconds until it must have answered."""
_MOST_BYTES = 16 << 20
_NETWORKS: dict[str, str] = {kind.label: kind.prefix for kind in SourceKind}

Answer = Mapping[str, object]


def ask_edge(control: str) -> EdgeSeen | None:
    """What the edge at an address says; nothing when it does not answer.

    :param control: host and port of its control plane.
    """
    try:
        answers = _asked(f"http://{control}/health"), _asked(f"http://{control}/metrics")
    except (OSError, HTTPException, ValueError):
        return None
    return understood(*answers)


def understood(health: bytes, metrics: bytes) -> EdgeSeen | None:
    """What the bodies of both answers say; nothing when one of them is not what an edge says."""
    try:
        return edge_seen(_object_in(health), _object_in(metrics))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def edge_seen(health: Answer, metrics: Answer) -> EdgeSeen:
    """What `/health` and `/metrics` say together."""
    standing, figures = _within(health, "sources"), _within(metrics, "sources")
    sensors = [_sensor(name, _within(standing, name), _within(figures, name)) for name in figures]
    operators = [
        _operator(name, _within(_within(metrics, "operators"), name)) for name in _within(metrics, "operators")
    ]
    return EdgeSeen(is_well=health["status"] == "ok", sensors=sensors, operators=operators)


def _asked(url: str) -> bytes:
    try:
        with urlopen(url, timeout=PATIENCE) as answer:
            return bytes(answer.read(_MOST_BYTES))
    except HTTPError as error:  # an edge that is not well says so with 503, and why in the body
        with error:
            return error.read(_MOST_BYTES)


def _object_in(body: bytes) -> Answer:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise TypeError("the answer is no object")
    return found


def _operator(name: str, told: Answer) -> OperatorSeen:
    return OperatorSeen(name, _whole(told, "operator_restart_total"), float(str(told["operator_uptime_seconds"])))


def _sensor(name: str, standing: Answer, told: Answer) -> SensorSeen:
    channel, taken = _within(told, "channel_occupancy"), {key: _whole(told, key) for key in _COUNTS}
    watermark = float(str(told["source_watermark_seconds"]))
    why = standing["why"]
    return SensorSeen(
        source=name,
        network=_NETWORKS[str(told["kind"])],
        is_alive=bool(standing["alive"]),
        why=None if why is None else str(why),
        alarms={key: str(text) for key, text in _within(standing, "alarms").items()},
        rate=float(str(told["ingest_rate"])),
        channel=(_whole(channel, "count"), _whole(channel, "capacity")),
        refused=_whole(told, "deserialization_errors") + _whole(told, "validation_failures"),
        unreadable=_whole(told, "deserialization_errors"),
        outside=_whole(told, "outside_area"),
        drops=_counts(told, "drops"),
        watermark_ns=round(watermark * 1e9) if watermark else None,
        consumer_lag=_counts(told, "consumer_lag"),
        breaker=_whole(told, "circuit_breaker_state"),
        retries=_whole(told, "retry_attempts_total"),
        **taken,
    )


_COUNTS = ("taken", "durable", "repeated", "heartbeats", "bytes_written", "log_end")


def _within(answer: Answer, name: str) -> Answer:
    found = answer[name]
    if not isinstance(found, dict):
        raise TypeError(f"{name} is no object")
    return found


def _counts(answer: Answer, name: str) -> dict[str, int]:
    found = _within(answer, name)
    return {key: _whole(found, key) for key in found}


def _whole(answer: Answer, name: str) -> int:
    return round(float(str(answer[name])))
