"""What the doctor says of a flow's damaged snapshots, and that the flow restarts after its repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.doctor import DryRun, FindingKind, Outcome, examine, repair
from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import FRESH, SnapshotMode
from holdfast.checkpoint.operators.history import FlowKeys
from tests.support.backends import BACKENDS
from tests.support.operator_flows import GRAPH, Crashed, Matches, World, newest_slot, stored_history

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.checkpoint.contract import CheckpointStore
    from tests.support.backends import Backend
    from tests.support.servers import Servers

FIRST = list(range(1, 31))
SECOND = [output for value in FIRST for output in (value * 10, -value)]


def world(store: CheckpointStore, mode: SnapshotMode) -> World:
    cadences = {"scale": 2.0, "merge": 3.0, "sink": 4.0}
    return World(store, FIRST, SECOND, merge=Matches, mode=mode, cadence=3.0, cadences=cadences, write_steps=0)


@pytest.fixture(params=["sqlite", "file"])
def place(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Backend:
    return BACKENDS[request.param](tmp_path, servers)


def crashed_with_damage(place: Backend, keys: FlowKeys, what: str) -> str:
    """The key that was damaged in a flow that was ended in the middle."""
    with place.open() as store:
        with pytest.raises(Crashed):
            world(store, keys.mode).run(40)
        key = newest_slot(store, keys, "sink") if what == "part" else keys.history("sink").name
        newest = store.versions(key)[-1].number
    place.tamper(key, newest)
    return key


@pytest.mark.parametrize("mode", SnapshotMode)
@pytest.mark.parametrize("what", ["part", "record"])
def test_damage_is_named_and_after_what_can_be_repaired_the_flow_restarts_and_gives_the_same_results(
    place: Backend, mode: SnapshotMode, what: str
) -> None:
    keys = FlowKeys("test", mode)
    damaged = crashed_with_damage(place, keys, what)
    with place.open() as store:
        (finding,) = examine(store).findings
        assert (finding.kind, damaged in finding.place) == (FindingKind.DAMAGED_NEWEST, True)
        assert what == "part" or finding.repair is not None
        for action in repair(store, examine(store), epoch=store.take_over(), dry_run=DryRun.NO):
            assert action.outcome is Outcome.DONE
        flow = world(store, mode)
        assert sorted(flow.run()) == sorted(World(MemoryStore(), FIRST, SECOND, merge=Matches).run())
        assert all(point is not FRESH for point in flow.recoveries[-1].points.values())
        assert FindingKind.DAMAGED_NEWEST not in {left.kind for left in examine(store).findings}


@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_flow_that_ended_well_leaves_nothing_for_the_doctor(place: Backend, mode: SnapshotMode) -> None:
    with place.open() as store:
        world(store, mode).run()
        assert examine(store).findings == ()
        assert all(stored_history(store, FlowKeys("test", mode), name).snapshots for name in GRAPH.operators)
