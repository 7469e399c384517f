"""Where a flow restarts when snapshots are missing, damaged or of another kind."""

from __future__ import annotations

import pytest
from tests.support.backends import MemoryBackend
from tests.support.operator_flows import GRAPH, Crashed, Matches, World

from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.operators import FRESH, FlowKeys, Graph, Link, Recovery, SnapshotMode, recover
from holdfast.model.errors import CheckpointDamaged, UnknownKey, UnknownVersion

FIRST, SECOND = list(range(1, 31)), [value * 10 for value in range(1, 31)]
OWN = FlowKeys("test", SnapshotMode.PER_OPERATOR)
ALIGNED = FlowKeys("test", SnapshotMode.ALIGNED)


def crashed(backend: MemoryBackend, keys: FlowKeys, steps: int = 40) -> MemoryStore:
    """A store in which a flow with many snapshots was ended in the middle."""
    store = MemoryStore(backend.shelf)
    with pytest.raises(Crashed):
        world(store, keys).run(steps)
    return store


def world(store: MemoryStore, keys: FlowKeys) -> World:
    cadences = {"scale": 2.0, "merge": 3.0, "sink": 4.0}
    return World(store, FIRST, SECOND, merge=Matches, mode=keys.mode, cadences=cadences, cadence=3.0, write_steps=0)


def damage_newest(backend: MemoryBackend, store: MemoryStore, key: str) -> int:
    version = store.versions(key)[-1].number
    backend.tamper(key, version)
    return version


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(Shelf())


def test_an_empty_store_starts_everything_from_the_beginning() -> None:
    found = recover(MemoryStore(), GRAPH, OWN)
    assert all(point is FRESH for point in found.points.values())
    assert {name: (at.after, at.next_seq) for name, at in found.replay.items()} == {
        "first": (None, 1),
        "second": (None, 1),
    }


def test_old_snapshots_are_pruned_and_those_a_recovery_needs_are_kept(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    assert all(store.versions(OWN.part(name).name)[0].number > 1 for name in GRAPH.operators)
    assert all(point is not FRESH for point in recover(store, GRAPH, OWN).points.values())


@pytest.mark.parametrize("operator", GRAPH.operators)
def test_a_damaged_newest_snapshot_is_passed_over_and_no_result_changes(backend: MemoryBackend, operator: str) -> None:
    store = crashed(backend, OWN)
    damage_newest(backend, store, OWN.part(operator).name)
    flow = world(store, OWN)
    assert sorted(flow.run()) == SECOND
    assert all(point is not FRESH for point in flow.recoveries[-1].points.values())


def test_a_damaged_snapshot_of_the_last_operator_is_named(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    version = damage_newest(backend, store, OWN.part("sink").name)
    assert recover(store, GRAPH, OWN).damaged == (f"'{OWN.part('sink').name}' version {version}",)


@pytest.mark.parametrize("key", [ALIGNED.part("merge").name, ALIGNED.completion.name])
def test_a_complete_snapshot_with_damage_is_passed_over_for_the_one_before(backend: MemoryBackend, key: str) -> None:
    store = crashed(backend, ALIGNED)
    newest = recover(store, GRAPH, ALIGNED)
    damage_version(backend, newest, key, store)
    older = recover(store, GRAPH, ALIGNED)
    assert newest.completion is not None
    assert older.completion is not None
    assert older.completion.snapshot_id < newest.completion.snapshot_id
    assert sorted(world(store, ALIGNED).run()) == SECOND


def damage_version(backend: MemoryBackend, newest: Recovery, key: str, store: MemoryStore) -> None:
    assert newest.completion is not None
    is_part = key == ALIGNED.part("merge").name
    backend.tamper(key, newest.completion.parts["merge"] if is_part else store.versions(key)[-1].number)


@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_flow_never_starts_afresh_when_all_its_snapshots_are_damaged(backend: MemoryBackend, keys: FlowKeys) -> None:
    store = crashed(backend, keys)
    name = keys.part("sink").name
    for version in store.versions(name):
        backend.tamper(name, version.number)
    with pytest.raises(CheckpointDamaged, match="No snapshot"):
        recover(store, GRAPH, keys)


def test_losing_the_snapshots_downstream_is_refused_when_the_ones_upstream_are_pruned(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    store.delete(OWN.part("sink").name, epoch=store.take_over())
    with pytest.raises(UnknownVersion, match="snapshots of an operator behind it are lost"):
        recover(store, GRAPH, OWN)


def test_parts_without_a_completion_record_are_not_a_snapshot(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    store.delete(ALIGNED.completion.name, epoch=store.take_over())
    assert recover(store, GRAPH, ALIGNED).snapshots == {}


def test_a_change_of_mode_is_refused_instead_of_starting_afresh(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    with pytest.raises(UnknownKey, match="in mode PER_OPERATOR, and none in mode ALIGNED"):
        recover(store, GRAPH, ALIGNED)


def test_an_operator_that_the_complete_snapshot_does_not_know_is_refused(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    wider = Graph((*GRAPH.links, Link("more", "sink", "audit")))
    with pytest.raises(UnknownKey, match="no part of operator 'audit'"):
        recover(store, wider, ALIGNED)


@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_source_may_forget_only_what_no_recovery_replays(backend: MemoryBackend, keys: FlowKeys) -> None:
    flow = world(crashed(backend, keys), keys)
    flow.run()
    replay, safe = flow.recoveries[-1].replay, flow.safe[0]
    assert all(safe[name].next_seq <= at.next_seq for name, at in replay.items())
    assert all(at.next_seq > 1 for at in flow.safe[-1].values())
