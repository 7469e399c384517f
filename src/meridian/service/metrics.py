"""The metrics of an operation as Prometheus reads them: a table of names, and the text made of it. Pure.

Counters begin anew when their process is started, but for those that are in the state of fusion; a reader of counters
knows how to deal with both. A figure that nobody can tell just now is left out rather than told as 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from holdfast.control.prometheus import Family, rendered
from meridian.service import samples
from meridian.service.samples import (
    Samples,
    both,
    of_figures,
    of_networks,
    of_operators,
    of_pipeline,
    of_progress,
    of_sensors,
    one,
)

if TYPE_CHECKING:
    from meridian.service.values import Snapshot


class Metric(NamedTuple):
    """One family of numbers."""

    name: str
    kind: str
    about: str
    samples: Samples


ABSENT = {
    "discards_total": "Another name of `operator_discards_total`.",
    "fd_count": "What counts files, connections and slots of pools is given no name, and every system tells it itself.",
    "flow_drops_total": "Another name of `flow_policy_drops_total`.",
    "metrics_drops_total": "No metric goes through a queue that could drop it: they are read when somebody asks.",
    "pipeline_recovery_path": "Another name of `recovery_path_total`.",
    "shedding_sink_drops_total": "Another name of `flow_policy_drops_total` with the policy `shed`.",
    "timed_sink_deadline_drops_total": "Nothing is dropped at a deadline: see `timed_sink_deadline_misses_total`.",
}
"""Names that are asked for elsewhere and are not told here, and why."""


def exposition(seen: Snapshot) -> str:
    """The text."""
    return rendered(Family(each.name, each.kind, each.about, each.samples(seen)) for each in METRICS)


_DELIVERY = {"operator": "delivery"}
_FUSION = {"operator": "fusion"}

METRICS = (
    Metric("ingest_rate", "gauge", "Observations a second, over about 30 s.", of_sensors(lambda s: s.rate)),
    Metric("channel_occupancy", "gauge", "What waits in a queue.", samples.occupancy),
    Metric("channel_capacity", "gauge", "What a queue may hold.", samples.capacity),
    Metric(
        "deserialization_errors_total",
        "counter",
        "Records whose bytes mean nothing.",
        of_sensors(lambda s: s.unreadable),
    ),
    Metric(
        "sink_bytes_written_total", "counter", "Bytes of observations in logs.", of_sensors(lambda s: s.bytes_written)
    ),
    Metric(
        "operator_restart_total",
        "counter",
        "How often it was started again.",
        both(of_operators(lambda o: o.restarts), of_pipeline(lambda p: p.restarts, **_FUSION)),
    ),
    Metric(
        "operator_uptime_seconds",
        "gauge",
        "Since it was started.",
        both(of_operators(lambda o: o.uptime_s), of_pipeline(lambda p: p.uptime_s, **_FUSION)),
    ),
    Metric("circuit_breaker_state", "gauge", "0 closed, 1 open, 2 half-open.", samples.breakers),
    Metric("retry_attempts_total", "counter", "Calls made again.", of_sensors(lambda s: s.retries, "operator")),
    Metric("operator_discards_total", "counter", "What was left out and only counted.", samples.discards),
    Metric(
        "duplicates_dropped_total", "counter", "Observations that were there before.", of_sensors(lambda s: s.repeated)
    ),
    Metric("source_lag_seconds", "histogram", "From observation to coming in at the edge.", samples.source_lags),
    Metric(
        "pipeline_lag_seconds",
        "histogram",
        "From coming in to being judged, of the oldest of a batch.",
        samples.pipeline_lags,
    ),
    Metric(
        "clock_skew_observed_total", "counter", "Observations from the future.", of_networks(lambda s: s.clock_ahead)
    ),
    Metric(
        "source_watermark_seconds",
        "gauge",
        "How far a network has come.",
        of_networks(lambda s: None if s.watermark_ns is None else s.watermark_ns / 1e9),
    ),
    Metric(
        "pipeline_watermark_seconds",
        "gauge",
        "How far all have come together.",
        of_progress(lambda p: None if p.watermark_ns is None else p.watermark_ns / 1e9),
    ),
    Metric("pending_windows", "gauge", "Windows that are open or kept.", samples.windows),
    Metric("late_events_dropped_total", "counter", "Too late for every window.", of_progress(lambda p: p.dropped)),
    Metric("retractions_emitted_total", "counter", "Words taken back.", of_progress(lambda p: p.retracted)),
    Metric("flow_policy_drops_total", "counter", "What queues let go.", samples.policy_drops),
    Metric(
        "priority_classifier_decisions_total",
        "counter",
        "How much what is seen matters.",
        of_figures("priority_classifier_decisions_total"),
    ),
    Metric("consumer_lag", "gauge", "Events that a consumer of a log is behind.", samples.consumer_lags),
    Metric(
        "checkpoint_age_seconds",
        "gauge",
        "Since it was written.",
        both(samples.state_age, of_pipeline(lambda p: p.checkpoint_age_s, **_DELIVERY)),
    ),
    Metric(
        "checkpoint_size_bytes",
        "gauge",
        "Its size.",
        both(samples.state_bytes, of_pipeline(lambda p: p.checkpoint_bytes, **_DELIVERY)),
    ),
    Metric(
        "checkpoint_pause_duration_ms", "histogram", "What Spark took to write the state of a batch.", samples.pauses
    ),
    Metric(
        "recovery_path_total",
        "counter",
        "Starts, by where the state came from: this machine (`local`), or nowhere (`fresh`).",
        both(samples.starts, of_figures("recovery_path_total")),
    ),
    Metric(
        "timed_sink_deadline_misses_total",
        "counter",
        "Requests that a subscriber did not answer in time; nothing is dropped.",
        of_figures("timed_sink_deadline_misses_total"),
    ),
    Metric("dlq_entries_total", "counter", "What was given up.", samples.dead_letters),
    Metric("observation_to_alert_seconds", "gauge", "Of the words that observations had said lately.", samples.delays),
    Metric("final_word_seconds", "gauge", "Of the words that closed windows had said lately.", samples.closing),
    Metric("sink_latency_seconds", "gauge", "From capture in fusion to the commit of a table.", samples.sink_delays),
    Metric(
        "unaccounted_observations",
        "gauge",
        "0 when everything is accounted for.",
        one(lambda s: s.accounts.unexplained),
    ),
    Metric("fusion_running", "gauge", "Whether a process answers for fusion.", one(lambda s: s.is_running)),
    Metric("alarm", "gauge", "1 for every alarm that is raised.", samples.alarms),
)
"""Every metric there is. Names never change their meaning."""
