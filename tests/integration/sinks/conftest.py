"""Gives a test a place of every kind, and as many handles on it as it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.sink_lanes import Lanes
from tests.support.sink_places import PLACES, WITH_CURSOR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers
    from tests.support.sink_places import Place


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Place:
    """A fresh place of each kind in turn."""
    return PLACES[request.param](tmp_path, servers)


@pytest.fixture
def lanes(place: Place) -> Iterator[Lanes]:
    """Handles on a place of each kind in turn."""
    lanes = Lanes(place)
    with lanes.handles:
        yield lanes


@pytest.fixture(params=WITH_CURSOR)
def owned(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[Lanes]:
    """The same, for the sinks that keep a cursor and an owner."""
    lanes = Lanes(PLACES[request.param](tmp_path, servers))
    with lanes.handles:
        yield lanes
