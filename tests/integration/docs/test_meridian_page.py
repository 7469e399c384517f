"""The guide to Meridian runs as it stands: a simulated operation in Spark, a home of one's own, and a subscriber."""

from __future__ import annotations

import os
import socket
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from tests.support.keeper import free_port
from tests.support.pages import ROOT, programs, run_text

from meridian.hosting.demonstration import prepare
from meridian.operation.home import Home

PAGE = ROOT / "docs" / "guides" / "meridian.md"
PATIENCE = 240.0
"""Seconds; a machine with nothing else to do needs a fifth of that."""
PORTS = 4
ELEMENTS = """\
ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
DAMAGED
1 25545U 98067B   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25545  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537
"""
"""Two sets; the checksum of the second is wrong."""


def free_ports() -> int:
    """The first of some ports in a row that nobody uses at the moment."""
    while True:
        first = free_port()
        with ExitStack() as held, suppress(OSError, OverflowError):
            for port in range(first, first + PORTS):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


@pytest.mark.timeout(PATIENCE + 20)
def test_every_command_of_the_guide_does_what_the_guide_shows(tmp_path: Path) -> None:
    place = tmp_path / "place"
    prepare(Home(place / "data" / "meridian"), now_ns=time.time_ns(), first_port=free_ports())
    (place / "gp.tle").write_text(ELEMENTS)
    environment = {**os.environ, "PATH": programs(tmp_path / "bin"), "NO_COLOR": "1"}
    text = PAGE.read_text().replace("7710", str(free_port()))
    run_text(text, place, environment=environment, timeout=PATIENCE)
