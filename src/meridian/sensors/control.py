"""What the edge shows: `/health` and `/metrics` over HTTP. It changes nothing."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from aiohttp import web

from holdfast.model.errors import SourceUnavailable
from meridian.sensors.meters import LAG_BOUNDS_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.flow import Metric
    from meridian.sensors.edge import Edge, Standing
    from meridian.sensors.station import Station


class Control:
    """The control plane of one edge."""

    def __init__(self, edge: Edge, address: tuple[str, int]) -> None:
        self._edge = edge
        self.address = address
        """Where it listens."""
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listen; `SourceUnavailable` when the address cannot be had."""
        application = web.Application()
        application.router.add_get("/health", self._health)
        application.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        host, port = self.address
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self.stop()
            raise SourceUnavailable(
                f"The control plane cannot listen at http://{host}:{port}: {error}.",
                remedy="Let no other process use the port, or choose another in `control_plane.bind_addr`.",
            ) from error
        self.address = self._runner.addresses[0][:2]

    async def stop(self) -> None:
        """Answer no more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _health(self, _: web.Request) -> web.Response:
        is_well = self._edge.is_healthy and not self._edge.is_stopping
        sources = {each.source.name: _told(each, self._edge.standing(each)) for each in self._edge.stations}
        status = "ok" if is_well else "stopping" if self._edge.is_stopping else "failing"
        body = {"status": status, "pid": os.getpid(), "sources": sources}
        return web.json_response(body, status=200 if is_well else 503)

    async def _metrics(self, _: web.Request) -> web.Response:
        sources = {each.source.name: figures(each) for each in self._edge.stations}
        metrics = self._edge.metrics()
        return web.json_response(
            {"sources": sources, "operators": labelled(metrics, "operator"), "edges": labelled(metrics, "edge")}
        )


def labelled(metrics: Iterable[Metric], label: str) -> dict[str, dict[str, float]]:
    """The figures that have a label, by what it says and their names."""
    found: dict[str, dict[str, float]] = {}
    for metric in metrics:
        if label in metric.labels:
            found.setdefault(metric.labels[label], {})[metric.name] = metric.value
    return found


def _told(station: Station, standing: Standing) -> dict[str, object]:
    return {"alive": standing.is_alive, "why": standing.why, "alarms": station.alarms}


def figures(station: Station) -> dict[str, object]:
    """All figures of one source."""
    pump, meter, gauges = station.pump, station.pump.meter, station.source.gauges()
    kernel = station.source.drops["kernel"]
    return {
        "kind": station.source.kind.label,
        "ingest_rate": meter.rate.value(time.monotonic()),
        "channel_occupancy": {"count": pump.under_way, "capacity": pump.flights.plan.capacity},
        "deserialization_errors": meter.refused["Deserialization"] + meter.refused["SchemaMismatch"],
        "validation_failures": meter.refused["ValidationFailed"],
        "dead_letters_suppressed": sum(meter.suppressed.values()),
        "bytes_written": meter.bytes_written,
        "taken": meter.taken,
        "durable": meter.durable,
        "repeated": meter.repeated,
        "outside_area": meter.outside,
        "heartbeats": meter.heartbeats,
        "drops": {**station.source.drops, "kernel": kernel},
        "source_watermark_seconds": pump.watermark_ns / 1e9,
        "source_lag_seconds": {
            "buckets": dict(zip([*map(str, LAG_BOUNDS_S), "inf"], meter.lags.counts.cumsum().tolist(), strict=True)),
            "sum": meter.lags.total_s,
        },
        "clock_skew_observed_total": meter.lags.negative,
        "log_end": station.landing.inbox.end(),
        "consumer_lag": station.lags,
        **({} if meter.sightings is None else {"sightings": meter.sightings.count}),
        "circuit_breaker_state": 0,
        **gauges,
        "retry_attempts_total": meter.retries + gauges.get("retry_attempts_total", 0),
    }
