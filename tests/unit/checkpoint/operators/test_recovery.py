"""Where a flow restarts when snapshots are missing, damaged or of another kind."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.backends import MemoryBackend
from tests.support.operator_flows import GRAPH, Crashed, Matches, World, newest_slot, stored_history, stored_snapshots

from holdfast.checkpoint.contract import Origin
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.operators import FRESH, Graph, Link, Recovery, SnapshotMode
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.history import FlowKeys
from holdfast.checkpoint.operators.mending import mend_and_find_restart
from holdfast.checkpoint.operators.recovery import find_restart
from holdfast.checkpoint.operators.snapshot import OperatorSnapshot
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.model.errors import CheckpointDamaged, UnknownKey, UnknownVersion

FIRST, SECOND = list(range(1, 31)), [value * 10 for value in range(1, 31)]
OWN = FlowKeys("test", SnapshotMode.PER_OPERATOR)
ALIGNED = FlowKeys("test", SnapshotMode.ALIGNED)
RECORD = ALIGNED.history("merge").name


def crashed(backend: MemoryBackend, keys: FlowKeys, steps: int = 40) -> MemoryStore:
    """A store in which a flow with many snapshots was ended in the middle."""
    store = MemoryStore(backend.shelf)
    with pytest.raises(Crashed):
        world(store, keys).run(steps)
    return store


def world(store: MemoryStore, keys: FlowKeys) -> World:
    cadences = {"scale": 2.0, "merge": 3.0, "sink": 4.0}
    return World(store, FIRST, SECOND, merge=Matches, mode=keys.mode, cadences=cadences, cadence=3.0, write_steps=0)


def mended(store: MemoryStore, keys: FlowKeys) -> Recovery:
    return mend_and_find_restart(store, GRAPH, keys, epoch=store.take_over(), paths=recovery_path_total())


def damage_newest(backend: MemoryBackend, store: MemoryStore, key: str) -> None:
    backend.tamper(key, store.versions(key)[-1].number)


def complete_id(found: Recovery) -> int:
    assert found.completion is not None
    return found.completion.snapshot_id


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend(Shelf())


def test_an_empty_store_starts_everything_from_the_beginning() -> None:
    found = find_restart(MemoryStore(), GRAPH, OWN)
    assert all(point is FRESH for point in found.points.values())
    assert {name: (at.after, at.next_seq) for name, at in found.replay.items()} == {
        "first": (None, 1),
        "second": (None, 1),
    }


def test_old_snapshots_are_pruned_and_those_a_recovery_needs_are_kept(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    assert all(stored_history(store, OWN, name).is_pruned for name in GRAPH.operators)
    assert all(point is not FRESH for point in find_restart(store, GRAPH, OWN).points.values())


# Damage


@pytest.mark.parametrize("operator", GRAPH.operators)
def test_a_damaged_newest_snapshot_is_passed_over_and_no_result_changes(backend: MemoryBackend, operator: str) -> None:
    store = crashed(backend, OWN)
    damage_newest(backend, store, newest_slot(store, OWN, operator))
    flow = world(store, OWN)
    assert sorted(flow.run()) == SECOND
    assert all(point is not FRESH for point in flow.recoveries[-1].points.values())


def test_a_damaged_snapshot_of_the_last_operator_is_named(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    slot, newest = newest_slot(store, OWN, "sink"), stored_history(store, OWN, "sink").newest_id
    damage_newest(backend, store, slot)
    assert find_restart(store, GRAPH, OWN).damaged == (f"snapshot {newest} of 'sink' in {slot!r}",)


@pytest.mark.req("X19")
@pytest.mark.parametrize("what", ["part", "record"])
def test_a_complete_snapshot_with_damage_is_passed_over_for_the_one_before(backend: MemoryBackend, what: str) -> None:
    store = crashed(backend, ALIGNED)
    newest = find_restart(store, GRAPH, ALIGNED)
    before = stored_history(store, ALIGNED, "merge").snapshots[1]
    damage_newest(backend, store, RECORD if what == "record" else newest_slot(store, ALIGNED, "merge"))
    assert mended(store, ALIGNED).completion == before
    assert before.snapshot_id < complete_id(newest)
    assert sorted(world(store, ALIGNED).run()) == SECOND


@pytest.mark.req("X19")
def test_going_back_from_a_damaged_record_is_a_recorded_fallback(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    damage_newest(backend, store, RECORD)
    older = store.versions(RECORD)[-2]
    mended(store, ALIGNED)
    newest = store.versions(RECORD)[-1]
    assert (newest.origin, newest.restored_from) == (Origin.FALLBACK, older.number)


def test_the_damaged_record_of_one_operator_takes_no_other_back(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    others = {name: store.versions(OWN.history(name).name) for name in ("scale", "merge")}
    damage_newest(backend, store, OWN.history("sink").name)
    mended(store, OWN)
    assert {name: store.versions(OWN.history(name).name) for name in others} == others


@pytest.mark.req("X19")
@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_going_back_from_a_damaged_part_is_recorded_and_not_found_out_again(
    backend: MemoryBackend, keys: FlowKeys
) -> None:
    store = crashed(backend, keys)
    damage_newest(backend, store, newest_slot(store, keys, "sink"))
    first, again = mended(store, keys), mended(store, keys)
    assert (again.points, again.damaged) == (first.points, ())
    assert stored_history(store, keys, "sink").passed_over == first.damaged != ()


@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_the_record_of_what_was_passed_over_ends_with_the_next_snapshot(backend: MemoryBackend, keys: FlowKeys) -> None:
    store = crashed(backend, keys)
    damage_newest(backend, store, newest_slot(store, keys, "sink"))
    world(store, keys).run()
    assert stored_history(store, keys, "sink").passed_over == ()


@pytest.mark.req("X19")
@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_flow_never_starts_afresh_when_all_its_snapshots_are_damaged(backend: MemoryBackend, keys: FlowKeys) -> None:
    store = crashed(backend, keys)
    for snapshot in stored_history(store, keys, "sink").snapshots:
        damage_newest(backend, store, keys.slot("sink", snapshot.parts["sink"].slot))
    with pytest.raises(CheckpointDamaged, match="No snapshot"):
        mended(store, keys)


@pytest.mark.req("X19")
@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_flow_never_starts_afresh_when_its_record_is_damaged(backend: MemoryBackend, keys: FlowKeys) -> None:
    store = crashed(backend, keys)
    name = keys.history("sink").name
    for version in store.versions(name):
        backend.tamper(name, version.number)
    with pytest.raises(CheckpointDamaged, match="can be read together"):
        mended(store, keys)


def write_over(store: MemoryStore, snapshot: OperatorSnapshot) -> None:
    """Put something else into the slot of the newest complete snapshot."""
    slot = newest_slot(store, ALIGNED, "merge")
    store.put_raw(slot, SnapshotCodec().encode(snapshot), epoch=store.take_over())


@pytest.mark.parametrize("other_id", [0, 1])
def test_a_slot_that_holds_something_else_than_what_is_named_is_not_taken_for_it(
    backend: MemoryBackend, other_id: int
) -> None:
    store = crashed(backend, ALIGNED)
    cut = stored_snapshots(store, ALIGNED, "merge")[0].cut
    write_over(store, OperatorSnapshot(replace(cut, snapshot_id=cut.snapshot_id + other_id), (b"another state",)))
    store.prune(newest_slot(store, ALIGNED, "merge"), keep=1, epoch=store.epoch())
    assert len(find_restart(store, GRAPH, ALIGNED).passed_over) == 1


def test_what_is_named_is_found_below_something_newer_in_its_slot(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    named = find_restart(store, GRAPH, ALIGNED).snapshots["merge"]
    write_over(store, OperatorSnapshot(named.cut, (b"another state",)))
    assert find_restart(store, GRAPH, ALIGNED).snapshots["merge"] == named


# Missing


def test_losing_the_snapshots_downstream_is_refused_when_the_ones_upstream_are_pruned(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    store.delete(OWN.history("sink").name, epoch=store.take_over())
    with pytest.raises(UnknownVersion, match="snapshots of an operator behind it are lost"):
        find_restart(store, GRAPH, OWN)


def test_without_a_snapshot_downstream_everything_starts_afresh_while_nothing_upstream_was_pruned(
    backend: MemoryBackend,
) -> None:
    store = crashed(backend, OWN, steps=8)
    assert stored_history(store, OWN, "scale").snapshots
    store.delete(OWN.history("sink").name, epoch=store.take_over())
    assert all(point is FRESH for point in find_restart(store, GRAPH, OWN).points.values())


def test_parts_without_a_record_are_not_a_snapshot(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    store.delete(RECORD, epoch=store.take_over())
    assert find_restart(store, GRAPH, ALIGNED).snapshots == {}


def test_a_change_of_mode_is_refused_instead_of_starting_afresh(backend: MemoryBackend) -> None:
    store = crashed(backend, OWN)
    with pytest.raises(UnknownKey, match="in mode PER_OPERATOR, and none in mode ALIGNED"):
        find_restart(store, GRAPH, ALIGNED)


def test_an_operator_that_the_complete_snapshot_does_not_know_is_refused(backend: MemoryBackend) -> None:
    store = crashed(backend, ALIGNED)
    wider = Graph((*GRAPH.links, Link("more", "sink", "audit")))
    with pytest.raises(UnknownKey, match="no part of operator 'audit'"):
        find_restart(store, wider, ALIGNED)


@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_source_has_not_forgotten_what_a_recovery_behind_one_damaged_snapshot_of_each_operator_replays(
    backend: MemoryBackend, keys: FlowKeys
) -> None:
    store = MemoryStore(backend.shelf)
    flow = world(store, keys)
    with pytest.raises(Crashed):
        flow.run(40)
    for name in GRAPH.operators:
        damage_newest(backend, store, newest_slot(store, keys, name))
    for name, at in mended(store, keys).replay.items():
        assert at.next_seq >= max(safe[name].next_seq for safe in flow.safe)


@pytest.mark.parametrize("keys", [OWN, ALIGNED])
def test_a_source_may_forget_only_what_no_recovery_replays(backend: MemoryBackend, keys: FlowKeys) -> None:
    flow = world(crashed(backend, keys), keys)
    flow.run()
    replay, safe = flow.recoveries[-1].replay, flow.safe[0]
    assert all(safe[name].next_seq <= at.next_seq for name, at in replay.items())
    assert all(at.next_seq > 1 for at in flow.safe[-1].values())
