"""What the process says of itself that runs the pipeline of fusion, asked through its control socket."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.control.client import ask
from holdfast.control.socket import FILE
from holdfast.flow.breaker import BreakerState
from holdfast.model.errors import ControlError
from meridian.service.seen import Finding, PipelineSeen, SinkSeen

if TYPE_CHECKING:
    from holdfast.control.values import Answer

PATIENCE = 2.0
_BREAKERS = [state.value for state in BreakerState]


def ask_pipeline(directory: Path) -> PipelineSeen | None:
    """What the process says that runs the pipeline in a directory; nothing when none answers."""
    try:
        began = (directory / FILE).stat().st_mtime
        status = ask(directory, "status", patience=PATIENCE)
    except (ControlError, OSError):
        return None
    return pipeline_seen(status, uptime_s=max(time.time() - began, 0.0))


def pipeline_seen(status: Answer, *, uptime_s: float = 0.0) -> PipelineSeen:
    """What a status says.

    :param uptime_s: since its process began to answer.
    """
    seen = status["snapshot"]
    return PipelineSeen(
        state=seen["state"],
        uptime_s=uptime_s,
        restarts=seen["spark"]["restarts"],
        waiting={source["name"]: source["waiting"] for source in seen["sources"]},
        outbox_bytes=seen["outbox"]["nbytes"],
        outbox_quota=seen["outbox"]["quota"],
        sinks=[_sink(lane) for lane in seen["lanes"]],
        checkpoint_age_s=seen["checkpoint"]["age"],
        checkpoint_bytes=seen["checkpoint"]["nbytes"],
        starts=seen["spark"]["starts"],
        pauses=seen["spark"]["timing"]["state_counts"],
        pause_seconds=seen["spark"]["timing"]["state_seconds"],
        findings=[
            Finding(each["alarm"], each["component"], each["cause"], each["remedy"])
            for each in status["health"]["findings"]
            if each["alarm"] is not None
        ],
    )


def _sink(lane: Answer) -> SinkSeen:
    took = lane["latency"]
    return SinkSeen(
        sink=lane["name"],
        state=lane["state"],
        lag_batches=lane["lag_batches"],
        age_s=lane["age"],
        rows=lane["rows_out"],
        rows_dead=lane["rows_dead"],
        breaker=_BREAKERS.index(lane["breaker"]),
        attempts=lane["attempts"],
        latency_s=(took["p50"], took["p99"], took["worst"]),
    )
