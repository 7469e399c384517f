"""What the tests of operators' work share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.control_world import ControlWorld

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ControlWorld]:
    world = ControlWorld(tmp_path)
    yield world
    world.close()
