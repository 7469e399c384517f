"""What an operation does when it cannot run: it says why, and leaves everything as it was."""

from __future__ import annotations

import socket
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
