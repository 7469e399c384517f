"""The metrics of an operation: every name of the catalogue with its labels, in the format that Prometheus reads."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.support.service_home import NOON_NS, SECOND, progress_row, source_row

from holdfast.flow import Metric as Figure
from meridian.service import reading
from meridian.service.delays import Delay, Lags, Spread
from meridian.service.metrics import ABSENT, METRICS, exposition
from meridian.service.seen import (
    DeadLetters,
    EdgeSeen,
    FeedSeen,
    OperatorSeen,
    PipelineSeen,
    SensorSeen,
    SinkSeen,
)
from meridian.service.values import Alarm, Occupancy, Snapshot

_LINE = re.compile(r'(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+)')

SEEN = Snapshot(
    at_ns=NOON_NS + 10 * SECOND,
    progress=replace(
        reading.progress(progress_row(7, sources=[source_row(clock_ahead=2)], dropped=5, retracted=3)),
        judged_ns=NOON_NS + 4 * SECOND,
    ),
    conjunctions=(),
    words=(),
    objects=2,
    occupancies=[Occupancy(edge="radar-1 -> obs.radar-1", count=12, capacity=60_000)],
    alarms=[Alarm(name="drops", says="much", remedy="look", about='a"b')],
    edge=EdgeSeen(
        is_well=True,
        sensors=[
            SensorSeen(
                source="radar-1",
                network="radar",
                rate=12.5,
                unreadable=4,
                bytes_written=1040,
                repeated=6,
                outside=1,
                drops={"kernel": 9, "wrong_size": 2},
                consumer_lag={"fusion": 30},
                breaker=1,
                retries=8,
            )
        ],
        operators=[OperatorSeen("radar-1", 2, 50.0)],
    ),
    pipeline=PipelineSeen(
        state="running",
        uptime_s=90.0,
        restarts=1,
        sinks=[SinkSeen(sink="words", state="running", breaker=2, latency_s=(0.1, 0.2, 0.3))],
        checkpoint_age_s=0.5,
        checkpoint_bytes=160,
        starts={"fresh": 1, "local": 2},
        pauses=[0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0],
        pause_seconds=0.25,
    ),
    feeds=[FeedSeen(log="obs.radar-1", passed=20, captured=13, shed=7)],
    figures=[
        Figure("priority_classifier_decisions_total", 11, {"priority": "low"}),
        Figure("recovery_path_total", 1, {"operator": "recent objects of radar-1", "path": "local"}),
        Figure("timed_sink_deadline_misses_total", 2, {"sink": "subscriber"}),
    ],
    dead=[DeadLetters("edge:obs.radar-1", "Deserialization", 4)],
    pipeline_lags={"radar": Lags().with_(0.003).with_(500.0)},
    delay=Delay(
        3, 3, Spread(1.0, 2.0, 2.5), source=Spread(p99_s=0.5), raised=Spread(p99_s=1.5), closed=Spread(40, 41, 42)
    ),
)


def lines(seen: Snapshot = SEEN) -> list[str]:
    return exposition(seen).splitlines()


@pytest.mark.req("OBS-01")
@pytest.mark.parametrize(
    "line",
    [
        'ingest_rate{source="radar-1"} 12.5',
        'channel_occupancy{edge="radar-1 -> obs.radar-1"} 12',
        'channel_capacity{edge="radar-1 -> obs.radar-1"} 60000',
        'deserialization_errors_total{source="radar-1"} 4',
        'sink_bytes_written_total{source="radar-1"} 1040',
        'operator_restart_total{operator="radar-1"} 2',
        'operator_restart_total{operator="fusion"} 1',
        'operator_uptime_seconds{operator="radar-1"} 50',
        'operator_uptime_seconds{operator="fusion"} 90',
        'circuit_breaker_state{breaker="radar-1"} 1',
        'circuit_breaker_state{breaker="sink words"} 2',
        'retry_attempts_total{operator="radar-1"} 8',
        'operator_discards_total{operator="radar-1"} 3',
        'duplicates_dropped_total{source="radar-1"} 6',
        'source_lag_seconds_bucket{source="radar",le="0.032"} 0',
        'source_lag_seconds_bucket{source="radar",le="0.064"} 10',
        'source_lag_seconds_bucket{source="radar",le="+Inf"} 10',
        'source_lag_seconds_count{source="radar"} 10',
        'pipeline_lag_seconds_bucket{source="radar",le="0.002"} 0',
        'pipeline_lag_seconds_bucket{source="radar",le="0.004"} 1',
        'pipeline_lag_seconds_bucket{source="radar",le="+Inf"} 2',
        'pipeline_lag_seconds_sum{source="radar"} 500.003',
        'pipeline_lag_seconds_count{source="radar"} 2',
        'clock_skew_observed_total{source="radar"} 2',
        f'source_watermark_seconds{{source="radar"}} {NOON_NS // SECOND - 40}',
        f"pipeline_watermark_seconds {NOON_NS // SECOND - 40}",
        'pending_windows{tier="active"} 2',
        'pending_windows{tier="retained"} 1',
        "late_events_dropped_total 5",
        "retractions_emitted_total 3",
        'flow_policy_drops_total{policy="backpressure",priority="none",edge="radar-1 -> obs.radar-1"} 9',
        'flow_policy_drops_total{policy="shed",priority="low",edge="obs.radar-1 -> fusion"} 7',
        'priority_classifier_decisions_total{priority="low"} 11',
        'consumer_lag{topic="obs.radar-1",partition="0",consumer="fusion"} 30',
        'checkpoint_age_seconds{operator="correlator"} 6',
        'checkpoint_age_seconds{operator="delivery"} 0.5',
        'checkpoint_size_bytes{operator="correlator"} 1000',
        'checkpoint_size_bytes{operator="delivery"} 160',
        'checkpoint_pause_duration_ms_bucket{operator="correlator",le="20"} 0',
        'checkpoint_pause_duration_ms_bucket{operator="correlator",le="50"} 3',
        'checkpoint_pause_duration_ms_bucket{operator="correlator",le="+Inf"} 4',
        'checkpoint_pause_duration_ms_sum{operator="correlator"} 250',
        'checkpoint_pause_duration_ms_count{operator="correlator"} 4',
        'recovery_path_total{operator="correlator",path="fresh"} 1',
        'recovery_path_total{operator="correlator",path="local"} 2',
        'recovery_path_total{operator="recent objects of radar-1",path="local"} 1',
        'timed_sink_deadline_misses_total{sink="subscriber"} 2',
        'dlq_entries_total{operator="edge:obs.radar-1",error_kind="Deserialization"} 4',
        'observation_to_alert_seconds{part="whole",quantile="0.99"} 2',
        'observation_to_alert_seconds{part="source",quantile="0.99"} 0.5',
        'observation_to_alert_seconds{part="raised",quantile="0.99"} 1.5',
        'final_word_seconds{quantile="0.99"} 41',
        'sink_latency_seconds{sink="words",quantile="1"} 0.3',
        'alarm{alarm="drops",about="a\\"b",severity="warning"} 1',
        "unaccounted_observations 0",
    ],
)
def test_a_figure_is_told_under_its_name_and_labels(line: str) -> None:
    assert line in lines()


ASKED_FOR = """
    channel_occupancy operator_restart_total operator_uptime_seconds circuit_breaker_state retry_attempts_total
    discards_total operator_discards_total source_lag_seconds pipeline_lag_seconds clock_skew_observed_total
    source_watermark_seconds pipeline_watermark_seconds pending_windows late_events_dropped_total
    retractions_emitted_total flow_policy_drops_total priority_classifier_decisions_total shedding_sink_drops_total
    timed_sink_deadline_drops_total flow_drops_total metrics_drops_total checkpoint_age_seconds checkpoint_size_bytes
    checkpoint_pause_duration_ms dlq_entries_total recovery_path_total pipeline_recovery_path
"""


@pytest.mark.req("OBS-01")
def test_every_name_of_the_catalogue_is_told_or_said_why_not() -> None:
    told = {metric.name for metric in METRICS}
    assert set(ASKED_FOR.split()) <= told | ABSENT.keys()
    assert not told & ABSENT.keys()
    assert len(told) == len(METRICS)


@pytest.mark.req("OBS-01")
def test_every_line_is_of_the_format() -> None:
    assert [line for line in lines() if not _LINE.fullmatch(line)] == []


def test_what_nobody_can_tell_is_left_out() -> None:
    nothing = Snapshot(at_ns=NOON_NS, progress=None, conjunctions=(), words=(), objects=0, is_running=False)
    samples = [line for line in lines(nothing) if not line.startswith("#")]
    assert samples == ["unaccounted_observations 0", "fusion_running 0"]
