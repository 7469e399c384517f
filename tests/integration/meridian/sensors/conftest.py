"""Logs in a directory of their own; tests over real data where that is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.orbit_data import DATA
from tests.support.sensor_logs import Logs

collect_ignore_glob = [] if DATA.exists() else ["test_real_*.py"]


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    opened = Logs(tmp_path)
    yield opened
    opened.close()
