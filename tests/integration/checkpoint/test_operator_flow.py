"""The flow of operators over real stores, with crashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import FRESH, SnapshotMode
from tests.support.backends import BACKENDS
from tests.support.operator_flows import Crashed, Matches, World

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.servers import Servers

FIRST = list(range(1, 31))
SECOND = [output for value in FIRST for output in (value * 10, -value)]


@pytest.mark.req("K5")
@pytest.mark.parametrize("mode", SnapshotMode)
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_crashes_change_no_result_over_a_store_on_disk(
    backend: str, mode: SnapshotMode, tmp_path: Path, servers: Servers
) -> None:
    place = BACKENDS[backend](tmp_path, servers)
    for steps in (30, 15, 20):
        with place.open() as store, pytest.raises(Crashed):
            world(store, mode).run(steps)
    with place.open() as store:
        last = world(store, mode)
        assert sorted(last.run()) == sorted(World(MemoryStore(), FIRST, SECOND, merge=Matches).run())
    assert all(point is not FRESH for point in last.recoveries[-1].points.values())


def world(store: object, mode: SnapshotMode) -> World:
    cadences = {"scale": 3.0, "merge": 5.0, "sink": 7.0}
    return World(store, FIRST, SECOND, merge=Matches, mode=mode, cadence=6.0, cadences=cadences)  # type: ignore[arg-type]
