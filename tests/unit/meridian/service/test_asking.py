"""What the edge and the process of fusion answer, over HTTP and through the control socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.support.snapshots import WELL, at, lane

from holdfast.control.latency import Latency
from holdfast.control.snapshot import SparkView
from holdfast.control.socket import ControlSocket
from holdfast.control.status import Status, status_of
from holdfast.runtime.timing import BatchTime, Timing
from meridian.sensors.config import parse
from meridian.sensors.control import Control
from meridian.sensors.edge import Edge
from meridian.service.edge import ask_edge
from meridian.service.pipeline import ask_pipeline
from meridian.service.seen import EdgeSeen
from meridian.service.service import Service


def asked_of_a_real_edge(directory: Path) -> EdgeSeen | None:
    document = parse(f'[sink]\noutput_dir = "{directory}"\n[radar]\nbind_addrs = ["127.0.0.1:0"]\n')

    async def asked() -> EdgeSeen | None:
        edge = Edge(document)
        await edge.start()
        control = Control(edge, ("127.0.0.1", 0))
        await control.start()
        try:
            host, port = control.address
            return await asyncio.to_thread(ask_edge, f"{host}:{port}")
        finally:
            await control.stop()
            await edge.stop()

    return asyncio.run(asked())


def test_everything_is_understood_that_an_edge_tells(tmp_path: Path) -> None:
    seen = asked_of_a_real_edge(tmp_path / "edge")
    assert seen is not None
    assert seen.is_well
    (radar,) = seen.sensors
    assert (radar.source, radar.network, radar.is_alive, radar.log) == ("radar-1", "radar", True, "obs.radar-1")
    assert radar.channel == (0, 60_000)
    assert radar.watermark_ns is None
    assert radar.drops["kernel"] == 0
    assert [operator.restarts for operator in seen.operators] == [0] * len(seen.operators) != []


@contextmanager
def answering(answers: Mapping[str, tuple[int, bytes]]) -> Iterator[str]:
    """Something that answers as it is told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, body = answers[self.path]
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


NOTHING = b'{"sources": {}, "operators": {}, "edges": {}}'


def test_an_edge_that_is_not_well_says_so_with_its_answer() -> None:
    health = (503, b'{"status": "failing", "sources": {}}')
    with answering({"/health": health, "/metrics": (200, NOTHING)}) as control:
        assert ask_edge(control) == EdgeSeen(is_well=False, sensors=[], operators=[])


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"[" * 100_000, b"no json", b'{"status": "ok"}', b'{"sources": 3, "status": "ok"}'],
)
def test_an_edge_that_says_nothing_sensible_says_nothing(body: bytes) -> None:
    with answering({"/health": (200, body), "/metrics": (200, NOTHING)}) as control:
        assert ask_edge(control) is None


def test_a_figure_that_is_no_number_of_this_world_says_nothing() -> None:
    operators = b'{"a": {"operator_restart_total": 1e999, "operator_uptime_seconds": 1}}'
    metrics = NOTHING.replace(b'"operators": {}', b'"operators": ' + operators)
    with answering({"/health": (200, b'{"status": "ok", "sources": {}}'), "/metrics": (200, metrics)}) as control:
        assert ask_edge(control) is None


def test_nobody_at_the_address_is_nothing() -> None:
    with answering({}) as control:
        gone = control
    assert ask_edge(gone) is None


TIMING = Timing().after(BatchTime(4, {"addBatch": 1.0}, state=0.004))
STATUS = status_of(
    [
        at(
            0,
            spark=SparkView(active=True, batch_id=4, restarts=3, replays=0, starts={"local": 4}, timing=TIMING),
            lanes=lane(
                name="words", state="frozen", breaker="half-open", lag_batches=2, latency=Latency(9, 0.1, 0.2, 0.3)
            ),
        )
    ]
)


@contextmanager
def running(directory: Path, status: Status) -> Iterator[None]:
    """A process that runs the pipeline."""
    directory.mkdir(parents=True, exist_ok=True)
    served = ControlSocket(directory, lambda what, given: status)
    try:
        yield
    finally:
        served.close()


def test_everything_is_understood_that_a_pipeline_tells(tmp_path: Path) -> None:
    with running(tmp_path, STATUS):
        seen = ask_pipeline(tmp_path)
    assert seen is not None
    assert (seen.state, seen.restarts, seen.outbox_quota) == ("running", 3, 1000)
    assert (seen.starts, seen.pauses[0], sum(seen.pauses), seen.pause_seconds) == ({"local": 4}, 1, 1, 0.004)
    assert 0 <= seen.uptime_s < 60
    (sink,) = seen.sinks
    assert (sink.sink, sink.breaker, sink.lag_batches, sink.latency_s) == ("words", 2, 2, (0.1, 0.2, 0.3))
    assert [(each.alarm, each.component) for each in seen.findings] == [("lane-frozen", "sink words")]


def test_a_pipeline_that_nobody_runs_is_nothing(tmp_path: Path) -> None:
    assert ask_pipeline(tmp_path / "nowhere") is None
    with running(tmp_path, STATUS):
        pass
    assert ask_pipeline(tmp_path) is None


def test_a_snapshot_says_whether_fusion_runs_and_passes_its_alarms_on(tmp_path: Path) -> None:
    service = Service(tmp_path)
    with running(tmp_path / "pipeline", STATUS):
        seen = service.snapshot()
    assert seen.is_running
    assert [(each.name, each.about) for each in seen.alarms] == [("pipeline", "lane-frozen of sink words")]
    gone = service.snapshot()
    assert not gone.is_running
    assert [each.name for each in gone.alarms] == ["fusion-down"]


def test_an_edge_that_nobody_is_to_ask_is_not_missed(tmp_path: Path) -> None:
    with running(tmp_path / "pipeline", status_of([replace(WELL)])):
        assert list(Service(tmp_path).snapshot().alarms) == []
