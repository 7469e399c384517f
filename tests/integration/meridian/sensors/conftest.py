"""Logs in a directory of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.sensor_logs import Logs


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    opened = Logs(tmp_path)
    yield opened
    opened.close()
