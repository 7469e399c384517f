"""The text for Prometheus: every line is of its format, and the numbers are those of the status."""

from __future__ import annotations

import re

from tests.support.snapshots import WELL, at, lane

from holdfast.control.metrics import METRICS, exposition
from holdfast.control.snapshot import SparkView
from holdfast.control.status import status_of
from holdfast.runtime.timing import BatchTime, Timing

_LINE = re.compile(r'(# (HELP|TYPE) \w+ .+|\w+\{(\w+="([^"\\\n]|\\.)*",?)+\} -?[0-9.e+-]+)')


def test_every_line_is_of_the_format_and_every_metric_is_there() -> None:
    text = exposition(status_of([WELL]))
    assert all(_LINE.fullmatch(line) for line in text.splitlines())
    assert re.findall(r"# TYPE (\w+)", text) == [metric.name for metric in METRICS]
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_a_frozen_lane_is_an_alarm_with_its_labels() -> None:
    text = exposition(status_of([at(0, lanes=lane(name='a"b', state="frozen", error="x", lag_rows=7))]))
    assert r'holdfast_alarm{pipeline="orders",alarm="lane-frozen",component="sink a\"b"} 1' in text
    assert r'holdfast_sink_lag_rows{pipeline="orders",sink="a\"b"} 7' in text
    assert 'holdfast_ready{pipeline="orders"} 0' in text


def test_where_the_time_of_batches_goes_is_told() -> None:
    timing = Timing().after(BatchTime(0, {"addBatch": 1.5}, state=0.15)).after(BatchTime(1, {"addBatch": 1}, state=9))
    spark = SparkView(True, 1, 0, 0, starts={"fresh": 1, "local": 2}, timing=timing)
    told = exposition(status_of([at(0, spark=spark)])).splitlines()
    assert 'holdfast_query_batches{pipeline="orders"} 2' in told
    assert 'holdfast_query_seconds{pipeline="orders",phase="addBatch"} 2.5' in told
    assert 'holdfast_query_starts{pipeline="orders",path="local"} 2' in told
    state = "holdfast_query_state_commit_seconds"
    assert f'{state}_bucket{{pipeline="orders",le="0.1"}} 0' in told
    assert f'{state}_bucket{{pipeline="orders",le="0.2"}} 1' in told
    assert f'{state}_bucket{{pipeline="orders",le="+Inf"}} 2' in told
    assert f'{state}_sum{{pipeline="orders"}} 9.15' in told
