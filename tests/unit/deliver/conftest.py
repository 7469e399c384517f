"""A world for every test, whose threads have ended when the test has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.deliver_world import World

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()
    left = [life._crew.running() for life in world.lives]
    assert not any(left), f"threads are left: {left}"
