"""What an operation does when it cannot run: it says why, and leaves everything as it was."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from tests.support.operations import Operation

from holdfast.model.errors import PipelineBusy, SourceUnavailable
from holdfast.runtime.owner import Ownership
from meridian.hosting.owning import alone
from meridian.hosting.running import Manner, run
from meridian.operation.home import Home
from meridian.sensors.config import host_and_port, load


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Operation.prepared(tmp_path / "home", told="http://127.0.0.1:9/alerts").home


def files(home: Home) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.directory.rglob("*") if path.is_file()}


def test_an_operation_that_runs_elsewhere_is_refused_and_nothing_changes(home: Home) -> None:
    owner = Ownership.take(home.directory)
    before = files(home)
    with pytest.raises(PipelineBusy, match="runs the operation"):
        run(home, Manner())
    assert files(home) == before
    owner.release()


def test_an_operation_that_ended_can_be_run_again(home: Home) -> None:
    for _ in range(2):
        with alone(home):
            pass


def test_an_edge_that_cannot_start_is_told_of_with_what_it_said(home: Home) -> None:
    radar = load(home.edge_file).radar
    assert radar is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(host_and_port(radar.bind_addrs[0]))
        with pytest.raises(SourceUnavailable, match=r"edge\.refused"):
            run(home, Manner())


class OfSomebodyElse(BaseHTTPRequestHandler):
    """An edge that is well, and is not ours."""

    def do_GET(self) -> None:
        body = b'{"status": "ok", "pid": 1, "sources": {}}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def test_an_edge_of_somebody_else_at_the_same_address_is_not_taken_for_ours(home: Home) -> None:
    with HTTPServer(host_and_port(load(home.edge_file).control_plane.bind_addr), OfSomebodyElse) as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        with pytest.raises(SourceUnavailable, match=r"does not answer at .*edge\.refused"):
            run(home, Manner())
        other.shutdown()
