"""Writes `docs/reference/metrics.md` from the metrics (`python -m tests.support.metrics_page`)."""

from __future__ import annotations

from pathlib import Path

from holdfast.control.latency import Latency
from holdfast.control.metrics import METRICS, Metric
from holdfast.control.snapshot import SparkView
from holdfast.control.status import status_of
from holdfast.runtime.timing import BatchTime, Timing
from meridian.service import metrics as meridian
from tests.support.snapshots import at, lane, source

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "metrics.md"

INTRODUCTION = """\
# Metrics

`holdfast run --metrics-file FILE` writes the text that Prometheus reads, once an interval; `--metrics-port PORT` serves
`/metrics`, and `/health` with 200 when the pipeline is ready and 503 when it is not, on the loopback. Names and labels
never change their meaning. Every metric has the label `pipeline` besides those that are listed. This page is made from
the metrics by `make docs`.

| metric | kind | labels | |
|---|---|---|---|
"""

OF_MERIDIAN = """
## Meridian

`meridian run` writes these to `metrics.prom` in the home of the operation, once a second. Counters begin
anew when their process is started, but for those of lateness, retractions and source lag, which fusion keeps.

| metric | kind | |
|---|---|---|
"""
NOT_TOLD = """
Names that you may look for, and that are not told:

| name | why |
|---|---|
"""

ALARMED = at(
    0,
    sources=source(event_lag=0.1),
    lanes=lane(state="frozen", latency=Latency(1, 0.1, 0.1, 0.1), event_lag=0.1),
    spark=SparkView(True, 4, 0, 0, starts={"fresh": 1}, timing=Timing().after(BatchTime(4, {"addBatch": 1.0}, 0.1))),
)
"""Something of everything there is to measure."""


def metrics_page() -> str:
    """The page."""
    ours = [f"| `{m.name}` | {m.kind} | {_labels(m)} | {m.about} |" for m in METRICS]
    of_meridian = [f"| `{m.name}` | {m.kind} | {m.about} |" for m in meridian.METRICS]
    absent = [f"| `{name}` | {why} |" for name, why in meridian.ABSENT.items()]
    parts = ((INTRODUCTION, ours), (OF_MERIDIAN, of_meridian), (NOT_TOLD, absent))
    return "".join(f"{head}{chr(10).join(rows)}\n" for head, rows in parts)


def _labels(metric: Metric) -> str:
    labels, *_ = next(iter(metric.samples(status_of([ALARMED]))))
    return ", ".join(f"`{name}`" for name in labels)


if __name__ == "__main__":
    PAGE.write_text(metrics_page())
