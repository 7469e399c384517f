"""Slots and the history over them: what is swept, what is never overwritten, and who may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.operator_flows import GRAPH, Crashed, Matches, World, stored_history

from holdfast.checkpoint.contract import Commit
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.operators import SnapshotMode
from holdfast.checkpoint.operators.archive import Archive
from holdfast.checkpoint.operators.dedup import InputCut
from holdfast.checkpoint.operators.history import Completion, FlowKeys, History, HistoryCodec, Part
from holdfast.checkpoint.operators.recovery import find_restart
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.model.errors import CommitStateUnknown, Fenced, RequirementFailed, StoreUnavailable, UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.checkpoint.contract import Stored

KEYS = FlowKeys("test", SnapshotMode.PER_OPERATOR)
HISTORY = KEYS.history("sink")
FIRST, SECOND = list(range(1, 31)), [value * 10 for value in range(1, 31)]


def opened(store: MemoryStore) -> Archive:
    return Archive(store, KEYS, ["sink"], epoch=store.epoch() or store.take_over())


def snapshot(number: int) -> OperatorSnapshot:
    return OperatorSnapshot(Cut("sink", number, {"out": InputCut(number, number)}, number), (b"state",))


def save(archive: Archive, *, kept: int = 2) -> Completion:
    """Take a snapshot, and forget all but the newest `kept`."""
    number = archive.next_id()
    completion = Completion(number, {"sink": archive.write_part(snapshot(number))})
    archive.complete(completion, oldest_needed=number - kept + 1)
    return completion


def slots_with_payload(store: MemoryStore, keys: FlowKeys, operator: str) -> set[int]:
    prefix = keys.slots(operator)
    slots = [key.removeprefix(prefix) for key in store.keys(prefix) if key != keys.history(operator).name]
    return {int(slot) for slot in slots if any(version.size for version in store.versions(prefix + slot))}


class Breaking(MemoryStore):
    """A store that loses the answer to a commit that needs something, and for a while cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.is_broken = False
        self.breaks_after_the_next = False

    def commit(self, commit: Commit) -> Mapping[str, int]:
        versions = super().commit(commit)
        if self.breaks_after_the_next and commit.requirements:
            self.is_broken = True
            raise CommitStateUnknown("The connection broke.", remedy="Read back.")
        return versions

    def get_raw(self, key: str) -> Stored | None:
        if self.is_broken:
            raise StoreUnavailable("It is away.", remedy="Wait.")
        return super().get_raw(key)


# Room


def test_only_what_the_history_names_takes_room() -> None:
    store = MemoryStore()
    archive = opened(store)
    for _ in range(5):
        save(archive)
        assert slots_with_payload(store, KEYS, "sink") == stored_history(store, KEYS, "sink").slots("sink")
    assert [len(found.snapshots) for found in [stored_history(store, KEYS, "sink")]] == [2]


def test_however_many_snapshots_are_taken_the_store_knows_the_same_few_keys() -> None:
    shelf = Shelf()
    archive = opened(MemoryStore(shelf))
    for _ in range(50):
        save(archive)
    assert len(shelf.counted) == 4


def test_a_part_whose_snapshot_never_became_complete_is_swept_after_the_next_one_also_by_a_later_run() -> None:
    store = MemoryStore()
    first = opened(store)
    save(first)
    for _ in range(3):
        first.write_part(snapshot(first.next_id()))
    assert len(slots_with_payload(store, KEYS, "sink")) == 2
    store.take_over()
    save(opened(store), kept=1)
    assert slots_with_payload(store, KEYS, "sink") == stored_history(store, KEYS, "sink").slots("sink")
    assert len(slots_with_payload(store, KEYS, "sink")) == 1


def test_what_a_crash_in_the_middle_of_a_sweep_left_is_swept_later() -> None:
    class Dies(MemoryStore):
        dead = False

        def prune(self, key: str, *, keep: int, epoch: int) -> int:
            if self.dead:
                raise Crashed
            return super().prune(key, keep=keep, epoch=epoch)

    store = Dies()
    archive = opened(store)
    save(archive, kept=1)
    store.dead = True
    with pytest.raises(Crashed):
        save(archive, kept=1)
    store.dead = False
    store.take_over()
    save(opened(store), kept=1)
    assert len(slots_with_payload(store, KEYS, "sink")) == 1


def test_a_sweep_that_fails_does_not_undo_the_snapshot_and_is_made_up_for() -> None:
    class CannotPrune(MemoryStore):
        is_away = True

        def prune(self, key: str, *, keep: int, epoch: int) -> int:
            if self.is_away:
                raise StoreUnavailable("It is away.", remedy="Wait.")
            return super().prune(key, keep=keep, epoch=epoch)

    store = CannotPrune()
    archive = opened(store)
    save(archive, kept=1)
    newest = save(archive, kept=1)
    assert stored_history(store, KEYS, "sink").snapshots == (newest,)
    store.is_away = False
    save(archive, kept=1)
    assert len(slots_with_payload(store, KEYS, "sink")) == 1


@pytest.mark.parametrize("mode", SnapshotMode)
def test_a_flow_leaves_nothing_but_what_its_histories_name(mode: SnapshotMode) -> None:
    store, keys = MemoryStore(), FlowKeys("test", mode)
    flow = World(store, FIRST, SECOND, merge=Matches, mode=mode, cadence=3.0)
    for steps in (25, 31, 17):
        with pytest.raises(Crashed):
            flow.run(steps)
    flow.run()
    for name in GRAPH.operators:
        assert slots_with_payload(store, keys, name) == stored_history(store, keys, name).slots(name)


# Nothing that a history names is overwritten


def test_a_part_is_never_written_over_one_that_a_complete_snapshot_names() -> None:
    store = MemoryStore()
    archive = opened(store)
    for _ in range(10):
        save(archive)
        named = stored_history(store, KEYS, "sink")
        archive.write_part(snapshot(archive.next_id()))
        for completion in named.snapshots:
            part = completion.parts["sink"]
            assert part.is_in(store.versions(KEYS.slot("sink", part.slot))[-1])


def test_a_snapshot_of_which_nobody_knows_whether_it_is_complete_is_not_written_over() -> None:
    store = Breaking()
    archive = opened(store)
    save(archive)
    store.breaks_after_the_next = True
    with pytest.raises(StoreUnavailable):
        save(archive)
    store.breaks_after_the_next = store.is_broken = False
    attempted = stored_history(store, KEYS, "sink").snapshots[0].parts["sink"]
    archive.write_part(snapshot(archive.next_id()))
    assert attempted.is_in(store.versions(KEYS.slot("sink", attempted.slot))[-1])


def test_after_an_unknown_outcome_the_next_snapshot_becomes_complete() -> None:
    store = Breaking()
    archive = opened(store)
    store.breaks_after_the_next = True
    with pytest.raises(StoreUnavailable):
        save(archive)
    store.breaks_after_the_next = store.is_broken = False
    newest = save(archive)
    assert stored_history(store, KEYS, "sink").snapshots[0] == newest


# Owners


@pytest.mark.req("X11")
def test_an_owner_that_was_fenced_writes_neither_parts_nor_history() -> None:
    store = MemoryStore()
    old = opened(store)
    part = old.write_part(snapshot(old.next_id()))
    store.take_over()
    with pytest.raises(Fenced):
        old.write_part(snapshot(old.next_id()))
    with pytest.raises(Fenced):
        old.complete(Completion(old.next_id(), {"sink": part}), oldest_needed=0)
    assert stored_history(store, KEYS, "sink") == History()


def test_a_second_flow_of_the_same_name_and_owner_is_found_out_before_it_is_recorded() -> None:
    store = MemoryStore()
    first, second = opened(store), opened(store)
    newest = save(first)
    with pytest.raises(RequirementFailed):
        save(second)
    assert stored_history(store, KEYS, "sink").snapshots == (newest,)


def test_no_id_is_given_twice_when_a_later_owner_has_lost_the_newest_snapshots() -> None:
    store = MemoryStore()
    archive = opened(store)
    save(archive)
    older = store.get_raw(HISTORY.name)
    assert older is not None
    told_outside = [save(archive).snapshot_id for _ in range(3)]
    store.put_raw(HISTORY.name, older.payload, epoch=store.take_over())
    assert opened(store).next_id() > max(told_outside)


# The record


def test_a_history_is_read_as_it_was_written() -> None:
    part = Part(2, 77, 4_000_000_000)
    history = History((Completion(5, {"a": part, "b": part}), Completion(3, {"a": part})), True, ("snapshot 4",))
    assert HistoryCodec().decode(HistoryCodec().encode(history)) == history


def test_a_history_without_its_damaged_snapshots_does_not_look_as_if_there_had_been_none() -> None:
    history = History((Completion(5, {}), Completion(3, {}))).gone_back_behind({5: "snapshot 5"})
    assert (history.newest_id, history.is_pruned, history.passed_over) == (3, True, ("snapshot 5",))


def test_a_history_of_a_newer_format_is_named_as_such() -> None:
    newer = HistoryCodec().encode(History()).replace(b'"format": 1', b'"format": 2')
    with pytest.raises(UnknownFormat, match="format 2"):
        HistoryCodec().decode(newer)


def test_the_slots_of_one_operator_are_not_taken_for_those_of_another_whose_name_begins_alike() -> None:
    store = MemoryStore()
    other = Archive(store, KEYS, ["sink/0"], epoch=store.take_over())
    part = other.write_part(OperatorSnapshot(Cut("sink/0", other.next_id(), {}, 0), (b"state",)))
    save(opened(store), kept=1)
    assert part.is_in(store.versions(KEYS.slot("sink/0", part.slot))[-1])
    assert find_restart(store, GRAPH, KEYS).damaged == ()
