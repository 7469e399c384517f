"""The parts of fusion as the documents of a home ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from meridian.hosting.demonstration import prepare
from meridian.operation.assembling import FromHome
from meridian.operation.home import Home
from meridian.orbit.time import NS_PER_SECOND

NOW = 1_700_000_000 * NS_PER_SECOND


def home_of(directory: Path) -> Home:
    home = Home(directory)
    prepare(home, now_ns=NOW, others=30)
    return home


@pytest.mark.req("WMK-05")
def test_only_networks_that_the_edge_has_are_waited_for(tmp_path: Path) -> None:
    home = home_of(tmp_path)
    assert set(FromHome.of(home)().before_anything.correlator.watermarks.lateness) == {"radar", "optical", "isl"}
    tables = home.edge_file.read_text().split("\n\n")
    home.edge_file.write_text("\n\n".join(table for table in tables if not table.startswith("[optical]")))
    assert set(FromHome.of(home)().before_anything.correlator.watermarks.lateness) == {"radar", "isl"}
