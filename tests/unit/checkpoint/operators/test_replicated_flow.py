"""A flow over a store with a remote tier: whatever is copied can be restarted from, also when the disk is lost."""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.backends import MemoryBackend
from tests.support.operator_flows import GRAPH, Crashed, Matches, RunningSum, World, newest_slot, stored_history
from tests.support.replicas import Switched, stepped

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.operators import FRESH, Recovery, SnapshotMode
from holdfast.checkpoint.operators.archive import open_archives
from holdfast.checkpoint.operators.history import FlowKeys, HistoryCodec
from holdfast.checkpoint.operators.mending import mend_and_find_restart
from holdfast.checkpoint.operators.recovery import find_restart
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.model.errors import CheckpointDamaged, Fenced, StoreUnavailable, UnknownVersion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from holdfast.checkpoint.replication.replicated import ReplicatedStore

FIRST = list(range(1, 21))
SECOND = [output for value in FIRST for output in (value * 10, -value)]
CADENCES = {"scale": 2.0, "merge": 3.0, "sink": 4.0}
MODES = pytest.mark.parametrize("mode", SnapshotMode)
PER_OPERATOR = pytest.mark.parametrize("mode", [SnapshotMode.PER_OPERATOR])


class Witness(MemoryStore):
    """A disk that remembers which snapshots were ever complete on it."""

    def __init__(self, shelf: Shelf, committed: set[tuple[str, int]]) -> None:
        super().__init__(shelf)
        self._committed = committed

    def commit(self, commit: Commit) -> Mapping[str, int]:
        versions = super().commit(commit)
        for update in commit.updates:
            if isinstance(update, Put) and update.key.endswith("/complete"):
                for found in HistoryCodec().decode(update.payload).snapshots:
                    self._committed.update((name, found.snapshot_id) for name in found.parts)
        return versions


@dataclass
class Site:
    """A disk that can be lost and a remote tier that stays, with a flow over both."""

    mode: SnapshotMode
    handles: ExitStack
    pace: Random | None = None
    cadence: float = 3.0
    disk: Shelf = field(default_factory=Shelf)
    far: Shelf = field(default_factory=Shelf)
    committed: set[tuple[str, int]] = field(default_factory=set)
    """Every snapshot of every operator that was ever complete."""
    safe: list[dict[str, int]] = field(default_factory=list)
    """The number from which each source had to be kept, as the flow said after every step."""

    def __post_init__(self) -> None:
        self.keys = FlowKeys("test", self.mode)
        self.paths = recovery_path_total()

    def start(self, without: WithoutRemote = WithoutRemote.REFUSE) -> ReplicatedStore:
        self.remote = Switched(self.far)
        self.store = stepped(Witness(self.disk, self.committed), self.remote, without_remote=without)
        self.handles.callback(self.store.close)
        return self.store

    def run(self, steps: int | None = None, copied_at: Collection[int] = ()) -> list[int]:
        """Run the flow, as `World` does, with a copy after the given steps of the event loop."""
        store = self.start()
        world = World(
            store,
            FIRST,
            SECOND,
            merge=RunningSum if self.mode is SnapshotMode.PER_OPERATOR else Matches,
            mode=self.mode,
            cadence=self.cadence,
            cadences=CADENCES,
            pace=self.pace,
            on_step=lambda step: store.replicate_once() if step in copied_at else None,
        )
        try:
            return world.run(steps)
        finally:
            self.safe += [{name: at.next_seq for name, at in safe.items()} for safe in world.safe]

    def crashed(self, steps: int, copied_at: Collection[int]) -> None:
        with pytest.raises(Crashed):
            self.run(steps, copied_at)

    def lose_the_disk(self) -> None:
        self.disk = Shelf()

    def forgotten(self, source: str) -> int:
        """The first number that the source still has, if it forgot whatever it was allowed to."""
        return max((safe[source] for safe in self.safe), default=1)

    def restart(self) -> Recovery:
        store = self.start()
        epoch = store.take_over()
        return mend_and_find_restart(store, GRAPH, self.keys, epoch=epoch, paths=self.paths)

    def whole(self) -> list[int]:
        """What an uninterrupted run gives."""
        with ExitStack() as handles:
            return Site(self.mode, handles).run()

    def same(self, results: list[int]) -> bool:
        """In its order where the mode keeps it."""
        return results == self.whole() if self.mode is SnapshotMode.PER_OPERATOR else sorted(results) == sorted(SECOND)

    def tamper(self, shelf: Shelf, key: str) -> None:
        MemoryBackend(shelf).tamper(key, max(shelf.kept[key]))


@pytest.fixture
def handles() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def site(mode: SnapshotMode, handles: ExitStack) -> Site:
    return Site(mode, handles)


@pytest.fixture
def copied(site: Site) -> Site:
    """A site whose flow crashed just after everything was copied."""
    site.crashed(60, copied_at=[59])
    return site


def is_a_committed_pair(snapshot: OperatorSnapshot) -> bool:
    """Whether the state holds exactly the items up to the offsets beside it."""
    seen: dict[str, list[int]] = {name: [] for name in snapshot.cut.inputs}
    for name, seq in json.loads(b"".join(snapshot.buffers))["seen"]:
        seen[name].append(seq)
    return seen == {name: list(range(1, at.applied + 1)) for name, at in snapshot.cut.inputs.items()}


def is_aligned(found: Recovery) -> bool:
    """Whether every operator has applied exactly what the ones before it had emitted."""
    cuts = {name: snapshot.cut for name, snapshot in found.snapshots.items()}
    between = [link for link in GRAPH.links if link.upstream in cuts]
    return all(cuts[at.downstream].inputs[at.name].applied == cuts[at.upstream].emitted for at in between)


# The disk is lost


@pytest.mark.req("K1", "K3")
@MODES
def test_a_lost_disk_restarts_every_operator_from_a_pair_that_was_committed(site: Site, mode: SnapshotMode) -> None:
    site.crashed(60, copied_at=range(5, 60, 7))
    site.lose_the_disk()
    found = site.restart()
    assert set(found.snapshots) == set(GRAPH.operators)
    assert all(is_a_committed_pair(snapshot) for snapshot in found.snapshots.values())
    assert {(name, point.snapshot_id) for name, point in found.points.items()} <= site.committed
    assert mode is SnapshotMode.PER_OPERATOR or is_aligned(found)
    assert site.paths.value(path="remote") == 1


@pytest.mark.req("K3", "K5")
@MODES
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    cadence=st.integers(2, 9),
    lives=st.lists(st.tuples(st.integers(1, 90), st.sets(st.integers(0, 90), max_size=12)), max_size=4),
)
def test_losing_the_disk_in_any_crash_changes_no_result_and_asks_for_nothing_that_was_forgotten(
    mode: SnapshotMode, seed: int, cadence: int, lives: list[tuple[int, set[int]]]
) -> None:
    with ExitStack() as handles:
        site = Site(mode, handles, Random(seed), float(cadence))
        for steps, copied_at in lives:
            with suppress(Crashed):
                site.run(steps, copied_at)
            site.lose_the_disk()
            found = site.restart()
            assert found.passed_over == ()
            assert all(at.next_seq >= site.forgotten(source) for source, at in found.replay.items())
            site.lose_the_disk()
        assert site.same(site.run())


@pytest.mark.req("K1", "K3")
@MODES
@pytest.mark.parametrize("every", [1, 2, 3, 5])
def test_every_copy_holds_all_parts_that_its_records_name(site: Site, every: int) -> None:
    site.crashed(60, copied_at=range(0, 60, every))
    far = MemoryStore(site.far)
    histories = {name: stored_history(far, site.keys, name) for name in GRAPH.operators}
    named = [(name, found.parts[name]) for name in histories for found in histories[name].snapshots]
    assert len(named) >= 2 * len(GRAPH.operators)
    assert all(part.is_in(far.versions(site.keys.slot(name, part.slot))[-1]) for name, part in named)


@MODES
def test_versions_that_got_other_numbers_do_not_make_a_pruned_flow_look_new(copied: Site) -> None:
    copied.lose_the_disk()
    copied.restart()
    assert copied.store.versions(copied.keys.history("sink").name)[0].number == 1
    for name in GRAPH.operators:
        assert stored_history(copied.store, copied.keys, name).is_pruned


@pytest.mark.req("X19")
@PER_OPERATOR
def test_losing_the_snapshots_downstream_is_refused_after_a_lost_disk_too(copied: Site) -> None:
    copied.lose_the_disk()
    copied.restart()
    copied.store.delete(copied.keys.history("sink").name, epoch=copied.store.epoch())
    with pytest.raises(UnknownVersion, match="behind it are lost"):
        find_restart(copied.store, GRAPH, copied.keys)


@pytest.mark.req("X19")
@MODES
def test_a_lost_disk_and_a_remote_tier_that_is_away_are_not_a_fresh_start(copied: Site) -> None:
    copied.lose_the_disk()
    store = copied.start(WithoutRemote.DETACH)
    copied.remote.is_down = True
    epoch = store.take_over()
    with pytest.raises(StoreUnavailable):
        mend_and_find_restart(store, GRAPH, copied.keys, epoch=epoch, paths=copied.paths)


@PER_OPERATOR
def test_a_flow_goes_on_without_its_remote_tier_although_not_every_operator_has_a_snapshot_yet(site: Site) -> None:
    site.crashed(9, copied_at=[8])
    assert stored_history(site.store, site.keys, "scale").snapshots
    assert not stored_history(site.store, site.keys, "sink").snapshots
    store = site.start(WithoutRemote.DETACH)
    site.remote.is_down = True
    found = mend_and_find_restart(store, GRAPH, site.keys, epoch=store.take_over(), paths=site.paths)
    assert all(point is FRESH for point in found.points.values())


# Something is damaged


@pytest.mark.req("X19", "K3")
@MODES
def test_damage_here_that_is_whole_in_the_remote_tier_is_fetched_and_nothing_goes_back(copied: Site) -> None:
    before = find_restart(MemoryStore(copied.disk), GRAPH, copied.keys)
    copied.tamper(copied.disk, newest_slot(MemoryStore(copied.disk), copied.keys, "merge"))
    copied.tamper(copied.disk, copied.keys.history("sink").name)
    found = copied.restart()
    assert (found.points, found.passed_over) == (before.points, ())
    assert copied.same(copied.run())


@pytest.mark.req("X19", "K5")
@MODES
def test_after_a_lost_disk_a_damaged_newest_snapshot_goes_back_to_the_one_before_and_no_result_changes(
    copied: Site,
) -> None:
    copied.lose_the_disk()
    newest = copied.restart()
    slot = newest_slot(copied.store, copied.keys, "sink")
    copied.tamper(copied.disk, slot)
    copied.tamper(copied.far, slot)
    before = stored_history(copied.store, copied.keys, "sink").snapshots[1].snapshot_id
    found = copied.restart()
    assert (found.points["sink"].snapshot_id, len(found.passed_over)) == (before, 1)
    assert before < newest.points["sink"].snapshot_id
    assert all(is_a_committed_pair(snapshot) for snapshot in found.snapshots.values())
    assert copied.same(copied.run())


@pytest.mark.req("X19", "K5")
@MODES
def test_a_lost_disk_and_a_damaged_newest_copy_go_back_to_the_copy_before(site: Site) -> None:
    site.crashed(60, copied_at=[20, 45, 59])
    site.tamper(site.far, newest_slot(MemoryStore(site.far), site.keys, "merge"))
    site.lose_the_disk()
    found = site.restart()
    assert all(point is not FRESH for point in found.points.values())
    assert all(is_a_committed_pair(snapshot) for snapshot in found.snapshots.values())
    assert site.same(site.run())


@pytest.mark.req("X19")
@MODES
def test_a_flow_that_lost_its_disk_and_whose_copies_are_all_damaged_does_not_start_afresh(copied: Site) -> None:
    copied.tamper(copied.far, copied.keys.history("sink").name)
    copied.lose_the_disk()
    with pytest.raises(CheckpointDamaged):
        copied.restart()


# What the sources may forget


@MODES
def test_what_is_not_copied_yet_lets_no_source_forget_anything(handles: ExitStack, mode: SnapshotMode) -> None:
    alone, copied = Site(mode, handles), Site(mode, handles)
    alone.crashed(60, copied_at=[])
    copied.crashed(60, copied_at=range(0, 60, 2))
    assert alone.forgotten("second") == 1 < copied.forgotten("second")


# Owners


@pytest.mark.req("X11")
@MODES
def test_a_host_that_another_has_replaced_cannot_add_to_the_flow(copied: Site) -> None:
    old, epoch = copied.store, copied.store.epoch()
    archive = open_archives(old, copied.keys, GRAPH.operators, epoch=epoch)["sink"]
    copied.lose_the_disk()
    copied.restart()
    old.replicate_once()
    with pytest.raises(Fenced):
        archive.write_part(OperatorSnapshot(Cut("sink", archive.next_id(), {}, 0), ()))
