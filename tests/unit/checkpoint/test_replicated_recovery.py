"""From where a start goes on, route by route, on tiers in memory: what is read, counted, recorded and refused."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from threading import RLock

import pytest
from tests.support.damage import flip
from tests.support.replicas import OFFSET, STATE, Switched, read_pair, stepped, write_pair
from tests.support.stores import TickingClock

from holdfast.checkpoint.contract import CheckpointStore, Origin, Version
from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.memory import MemoryStore, Shelf
from holdfast.checkpoint.replication.counting import LabelledCounter, recovery_path_total
from holdfast.checkpoint.replication.recovery import Fresh, Recovered, RecoveryPath, recover
from holdfast.checkpoint.replication.replica import RESERVED, Entry, Found, Manifest, is_behind
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.replication.status import Health, Standing
from holdfast.checkpoint.replication.takeover import WithoutRemote
from holdfast.model.errors import CheckpointDamaged, ForeignFile, StoreUnavailable, UnknownEpoch

PAIR = (STATE, OFFSET)


def damage(shelf: Shelf, key: str, version: int) -> None:
    kept = shelf.kept[key][version]
    shelf.kept[key][version] = Kept(kept.version, replace(kept.sealed, data=flip(kept.sealed.data)))


class World:
    """A local disk, a remote tier, and the counter of the routes."""

    def __init__(self, handles: ExitStack) -> None:
        self.disk, self.far = Shelf(), Shelf()
        self.paths: LabelledCounter = recovery_path_total()
        self.remote = Switched(self.far)
        self._handles = handles
        self._clock = TickingClock()

    def start(self, *, is_down: bool = False, without: WithoutRemote = WithoutRemote.REFUSE) -> ReplicatedStore:
        self.remote = Switched(self.far)
        self.remote.is_down = is_down
        store = stepped(MemoryStore(self.disk, clock=self._clock), self.remote, without_remote=without)
        self._handles.callback(store.close)
        return store

    def written(self, *copied: bool) -> None:
        """One process: a pair per flag, copied at once when the flag is set; then a crash."""
        store = self.start()
        epoch = store.take_over()
        for number, flag in enumerate(copied, 1):
            write_pair(store, number, epoch)
            if flag:
                store.replicate_once()

    def set_back(self) -> None:
        """One process that copies three pairs, and then the disk as it was after the first of them."""
        store = self.start()
        epoch = store.take_over()
        write_pair(store, 1, epoch)
        store.replicate_once()
        backup = Shelf(RLock(), self.disk.epoch, copy.deepcopy(self.disk.kept), dict(self.disk.counted))
        for number in (2, 3):
            write_pair(store, number, epoch)
            store.replicate_once()
        self.disk = backup

    def recovered(self, store: CheckpointStore, fresh: Fresh = Fresh.REFUSED) -> Recovered:
        epoch = store.take_over()
        return recover(store, PAIR, epoch=epoch, paths=self.paths, fresh=fresh)

    def counted(self) -> dict[str, int]:
        return {labels[0][1]: count for labels, count in self.paths.values().items()}


@pytest.fixture
def world() -> Iterator[World]:
    with ExitStack() as handles:
        yield World(handles)


def pair_in(recovered: Recovered) -> tuple[bytes | None, bytes | None]:
    return recovered.payload(STATE), recovered.payload(OFFSET)


# The four routes


@pytest.mark.req("K3")
def test_a_whole_local_tier_is_the_first_route(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.written(True, False)
    with caplog.at_level(logging.INFO):
        found = world.recovered(world.start())
    assert pair_in(found) == (b"state 2", b"offset 2")
    assert (found.path, world.counted()) == (RecoveryPath.LOCAL, {"local": 1})
    assert [record.message for record in caplog.records if "path=local " in record.message]


@pytest.mark.req("K3")
def test_a_lost_local_disk_is_recovered_from_the_remote_tier(world: World) -> None:
    world.written(True, True)
    world.disk = Shelf()
    store = world.start()
    found = world.recovered(store)
    assert pair_in(found) == (b"state 2", b"offset 2")
    assert (found.path, world.counted()) == (RecoveryPath.REMOTE, {"remote": 1})
    assert (read_pair(store), store.replication().standing) == ((2, 2), Standing.IN_STEP)


@pytest.mark.req("K3")
def test_two_empty_tiers_are_a_fresh_start(world: World) -> None:
    found = world.recovered(world.start())
    assert (found.path, found.values, world.counted()) == (RecoveryPath.FRESH, {}, {"fresh": 1})


@pytest.mark.req("K3", "K1", "X19")
def test_a_damaged_version_takes_the_whole_pair_back_as_a_recorded_rollback(world: World) -> None:
    world.written(False, False, False)
    damage(world.disk, STATE, 3)
    store = world.start()
    found = world.recovered(store)
    assert pair_in(found) == (b"state 2", b"offset 2")
    assert (found.path, world.counted()) == (RecoveryPath.LOCAL_FALLBACK, {"local_fallback": 1})
    assert found.damaged
    for key in PAIR:
        newest = store.versions(key)[-1]
        assert (newest.number, newest.origin, newest.restored_from) == (4, Origin.FALLBACK, 2)
    store.replicate_once()
    assert read_pair(MemoryStore(world.far)) == (2, 2)


@pytest.mark.req("K3")
def test_a_store_without_a_remote_tier_falls_back_too(world: World) -> None:
    store = MemoryStore(world.disk, clock=TickingClock())
    epoch = store.take_over()
    for number in (1, 2):
        write_pair(store, number, epoch)
    damage(world.disk, OFFSET, 2)
    found = world.recovered(store)
    assert (found.path, pair_in(found)) == (RecoveryPath.LOCAL_FALLBACK, (b"state 1", b"offset 1"))
    assert read_pair(store) == (1, 1)


# Never behind what the sources were told


@pytest.mark.req("K3", "K1")
def test_a_damaged_version_that_is_remote_comes_from_there_and_loses_nothing(world: World) -> None:
    world.written(True, True)
    damage(world.disk, STATE, 2)
    store = world.start()
    found = world.recovered(store)
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (b"state 2", b"offset 2"))
    assert (read_pair(store), store.newest_remote(STATE)) == ((2, 2), 3)
    assert store.replicate_once().keys_behind == 0


@pytest.mark.req("K3", "K1")
def test_an_older_local_version_is_not_taken_while_a_newer_one_may_be_remote(world: World) -> None:
    world.written(True, True)
    damage(world.disk, STATE, 2)
    store = world.start(is_down=True, without=WithoutRemote.DETACH)
    epoch = store.take_over()
    with pytest.raises(StoreUnavailable):
        recover(store, PAIR, epoch=epoch, paths=world.paths)
    assert world.counted() == {}


@pytest.mark.req("K3")
def test_a_local_version_newer_than_the_copy_is_preferred_to_it(world: World) -> None:
    world.written(True, False, False)
    damage(world.disk, STATE, 3)
    found = world.recovered(world.start())
    assert (found.path, pair_in(found)) == (RecoveryPath.LOCAL_FALLBACK, (b"state 2", b"offset 2"))


@pytest.mark.req("K3", "K1")
def test_a_key_that_the_copy_lacks_does_not_stay_beside_what_is_fetched(world: World) -> None:
    store = world.start()
    epoch = store.take_over()
    store.put_raw(OFFSET, b"offset 1", epoch=epoch)
    store.replicate_once()
    write_pair(store, 2, epoch)
    damage(world.disk, OFFSET, 2)
    found = world.recovered(world.start())
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (None, b"offset 1"))


def test_a_key_that_only_a_damaged_copy_had_does_not_stay_in_the_remote_tier(world: World) -> None:
    store = world.start()
    epoch = store.take_over()
    store.put_raw(OFFSET, b"offset 1", epoch=epoch)
    store.replicate_once()
    write_pair(store, 2, epoch)
    store.replicate_once()
    for shelf in (world.disk, world.far):
        damage(shelf, OFFSET, 2)
    again = world.start()
    assert pair_in(world.recovered(again)) == (None, b"offset 1")
    again.replicate_once()
    assert (MemoryStore(world.far).keys(), again.newest_remote(STATE)) == ([RESERVED, OFFSET], 0)


# Never fresh unasked


@pytest.mark.req("X19", "K3")
def test_damage_with_nothing_readable_raises_instead_of_starting_fresh(world: World) -> None:
    world.written(False)
    damage(world.disk, STATE, 1)
    store = world.start()
    epoch = store.take_over()
    with pytest.raises(CheckpointDamaged):
        recover(store, PAIR, epoch=epoch, paths=world.paths)
    assert world.counted() == {}
    found = recover(store, PAIR, epoch=epoch, paths=world.paths, fresh=Fresh.ALLOWED)
    assert (found.path, found.values) == (RecoveryPath.FRESH, {})
    assert found.damaged


@pytest.mark.req("X19", "K3")
def test_a_damaged_only_version_beside_a_whole_older_key_is_not_silently_absent(world: World) -> None:
    store = world.start()
    epoch = store.take_over()
    store.put_raw(OFFSET, b"offset 1", epoch=epoch)
    store.put_raw(STATE, b"state 1", epoch=epoch)
    damage(world.disk, STATE, 1)
    with pytest.raises(CheckpointDamaged):
        world.recovered(world.start())


@pytest.mark.req("X19", "K3")
def test_an_empty_local_tier_without_a_word_from_the_remote_one_is_not_fresh(world: World) -> None:
    world.written(True)
    world.disk = Shelf()
    store = world.start(is_down=True, without=WithoutRemote.DETACH)
    epoch = store.take_over()
    with pytest.raises(StoreUnavailable):
        recover(store, PAIR, epoch=epoch, paths=world.paths)
    assert recover(store, PAIR, epoch=epoch, paths=world.paths, fresh=Fresh.ALLOWED).path is RecoveryPath.FRESH


@pytest.mark.req("X19", "K3")
def test_damaged_copies_and_a_lost_disk_are_not_fresh(world: World) -> None:
    world.written(True)
    damage(world.far, STATE, 1)
    world.disk = Shelf()
    with pytest.raises(CheckpointDamaged):
        world.recovered(world.start())
    assert world.counted() == {}


@pytest.mark.req("X19", "K3")
@pytest.mark.parametrize("key", [STATE, RESERVED])
def test_copies_that_cannot_be_read_are_given_up_only_by_name(world: World, key: str) -> None:
    world.written(True)
    damage(world.far, key, 1)
    world.disk = Shelf()
    store = world.start()
    epoch = store.take_over()
    with pytest.raises(CheckpointDamaged):
        recover(store, PAIR, epoch=epoch, paths=world.paths)
    assert store.replication().standing is Standing.BEHIND
    found = recover(store, PAIR, epoch=epoch, paths=world.paths, fresh=Fresh.ALLOWED)
    assert (found.path, found.values, world.counted()) == (RecoveryPath.FRESH, {}, {"fresh": 1})
    assert found.damaged
    assert (store.replication().standing, store.newest_remote(STATE)) == (Standing.IN_STEP, 0)


@pytest.mark.parametrize("key", [STATE, RESERVED])
def test_a_fresh_start_by_name_is_copied_over_the_copies_that_could_not_be_read(world: World, key: str) -> None:
    world.written(True)
    damage(world.far, key, 1)
    world.disk = Shelf()
    store = world.start()
    world.recovered(store, Fresh.ALLOWED)
    write_pair(store, 7, store.tiers.epoch)
    assert store.replicate_once().health is Health.OK
    assert read_pair(MemoryStore(world.far)) == (7, 7)
    world.disk = Shelf()
    assert pair_in(world.recovered(world.start())) == (b"state 7", b"offset 7")


@pytest.mark.req("K3")
def test_a_fresh_start_by_name_leaves_nothing_of_an_older_disk_to_the_next_start(world: World) -> None:
    world.set_back()
    for version in (1, 2, 3):
        damage(world.far, STATE, version)
    store = world.start()
    assert world.recovered(store, Fresh.ALLOWED).path is RecoveryPath.FRESH
    assert store.keys() == []
    assert world.recovered(world.start()).path is RecoveryPath.FRESH


def test_a_fresh_start_by_name_copies_nothing_that_was_pending_before_it(world: World) -> None:
    world.set_back()
    for version in (1, 2, 3):
        damage(world.far, STATE, version)
    store = world.start(is_down=True, without=WithoutRemote.DETACH)
    epoch = store.take_over()
    for number in (12, 13, 14):
        write_pair(store, number, epoch)
    world.remote.is_down = False
    assert store.replicate_once().standing is Standing.BEHIND
    recover(store, PAIR, epoch=epoch, paths=world.paths, fresh=Fresh.ALLOWED)
    assert store.replicate_once().health is Health.OK
    assert MemoryStore(world.far).keys() == [RESERVED]


def test_a_fresh_start_by_name_never_empties_a_history_that_was_not_copied(world: World) -> None:
    world.written(True)
    damage(world.far, STATE, 1)
    world.disk = Shelf()
    alone = MemoryStore(world.disk)
    write_pair(alone, 5, alone.take_over())
    with pytest.raises(ForeignFile):
        world.recovered(world.start(), Fresh.ALLOWED)
    assert read_pair(alone) == (5, 5)


@pytest.mark.req("K3", "K1")
@pytest.mark.parametrize("key", [STATE, OFFSET, RESERVED])
def test_a_damaged_newest_copy_falls_back_to_the_whole_copy_before_it(world: World, key: str) -> None:
    world.written(True, True)
    damage(world.far, key, 2)
    world.disk = Shelf()
    store = world.start()
    found = world.recovered(store)
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (b"state 1", b"offset 1"))
    assert found.damaged
    store.replicate_once()
    assert read_pair(MemoryStore(world.far)) == (1, 1)


def test_a_damaged_manifest_is_written_anew_from_a_whole_local_tier(world: World) -> None:
    world.written(True, True)
    damage(world.far, RESERVED, 2)
    store = world.start()
    assert world.recovered(store).path is RecoveryPath.LOCAL
    store.replicate_once()
    world.disk = Shelf()
    assert pair_in(world.recovered(world.start())) == (b"state 2", b"offset 2")


# Which tier is newer


@pytest.mark.req("K3")
def test_a_disk_restored_from_a_backup_is_behind_its_own_copies(world: World) -> None:
    world.set_back()
    found = world.recovered(world.start())
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (b"state 3", b"offset 3"))


@pytest.mark.req("K3")
def test_a_restored_disk_that_went_on_without_its_remote_tier_is_still_behind(world: World) -> None:
    world.set_back()
    alone = world.start(is_down=True, without=WithoutRemote.DETACH)
    epoch = alone.take_over()
    for number in (12, 13, 14):
        write_pair(alone, number, epoch)
    world.remote.is_down = False
    assert alone.replicate_once().standing is Standing.BEHIND
    found = world.recovered(world.start())
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (b"state 3", b"offset 3"))


@pytest.mark.req("K3")
@pytest.mark.parametrize("earlier_copies", [0, 1])
def test_a_crash_between_a_copy_and_its_record_leaves_the_local_tier_the_newer_one(
    world: World, monkeypatch: pytest.MonkeyPatch, earlier_copies: int
) -> None:
    def crash(*_: object) -> None:
        raise StoreUnavailable("Killed.", remedy="Restart.")

    store = world.start()
    epoch = store.take_over()
    for _ in range(earlier_copies):
        write_pair(store, 1, epoch)
        store.replicate_once()
    write_pair(store, 2, epoch)
    monkeypatch.setattr(store.tiers, "keep_record", crash)
    store.replicate_once()
    write_pair(store, 3, epoch)
    assert read_pair(MemoryStore(world.far)) == (2, 2)
    found = world.recovered(world.start())
    assert (found.path, pair_in(found)) == (RecoveryPath.LOCAL, (b"state 3", b"offset 3"))


@pytest.mark.req("K3", "X11")
def test_a_host_that_returns_after_another_one_worked_goes_on_from_the_others_work(world: World) -> None:
    world.written(True, False)
    first, world.disk = world.disk, Shelf()
    second = world.start()
    world.recovered(second)
    write_pair(second, 9, second.tiers.epoch)
    second.replicate_once()
    world.disk = first
    store = world.start()
    found = world.recovered(store)
    assert (found.path, pair_in(found)) == (RecoveryPath.REMOTE, (b"state 9", b"offset 9"))
    write_pair(store, 10, store.tiers.epoch)
    store.replicate_once()
    assert world.recovered(world.start()).path is RecoveryPath.LOCAL


def test_two_histories_that_know_nothing_of_each_other_are_refused(world: World) -> None:
    world.written(True)
    world.disk = Shelf()
    alone = MemoryStore(world.disk)
    write_pair(alone, 5, alone.take_over())
    with pytest.raises(ForeignFile):
        world.recovered(world.start())
    assert read_pair(alone) == (5, 5)


def test_keys_that_the_newer_history_lacks_are_gone_after_it_was_taken_over(world: World) -> None:
    store = world.start()
    epoch = store.take_over()
    write_pair(store, 1, epoch)
    store.replicate_once()
    store.put_raw("never-copied", b"", epoch=epoch)
    first, world.disk = world.disk, Shelf()
    second = world.start()
    world.recovered(second)
    second.replicate_once()
    world.disk = first
    again = world.start()
    assert world.recovered(again).path is RecoveryPath.REMOTE
    assert again.keys() == [OFFSET, STATE]


def test_recovery_needs_a_takeover_through_the_store(world: World) -> None:
    with pytest.raises(UnknownEpoch):
        recover(world.start(), PAIR, epoch=1, paths=world.paths)


ONE, TWO = Entry(1, 1, 1), Entry(2, 1, 1)
KNOWN = Manifest(1, 1, {"a": ONE})


def line(*numbers: int, checksum: int = 1, epoch: int = 1) -> list[Version]:
    return [Version("a", number, datetime(2026, 1, 1, tzinfo=UTC), 1, checksum, epoch) for number in numbers]


@pytest.mark.parametrize(
    ("local", "record", "remote", "behind"),
    [
        ([], Manifest(), Manifest(), False),
        (line(1), Manifest(), Manifest(), False),
        ([], Manifest(), Manifest(1, 1, {"a": ONE}), True),
        (line(1), KNOWN, Manifest(1, 1, {"a": ONE}), False),
        (line(9), KNOWN, Manifest(2, 2, {"a": ONE}), True),
        (line(1), Manifest(2, 3, {"a": ONE}), Manifest(1, 9, {"a": TWO}), False),
        (line(1, 2), KNOWN, Manifest(1, 2, {"a": TWO}), False),
        (line(1), KNOWN, Manifest(1, 2, {"a": TWO}), True),
        ([], KNOWN, Manifest(1, 2, {"a": ONE}), False),
        ([*line(1), *line(2, checksum=7)], KNOWN, Manifest(1, 2, {"a": TWO}), True),
        ([*line(1), *line(2, epoch=2)], KNOWN, Manifest(1, 2, {"a": TWO}), True),
        (line(3, checksum=7), KNOWN, Manifest(1, 2, {"a": TWO}), False),
        (line(3, checksum=7, epoch=2), KNOWN, Manifest(1, 2, {"a": TWO}), True),
    ],
    ids=[
        "two empty tiers",
        "nothing copied yet",
        "an empty disk",
        "in step",
        "another owner",
        "an older owner's copy",
        "the record was not written any more",
        "the version is missing",
        "deleted since",
        "another version of that number",
        "a later owner's version of that number",
        "pruned since",
        "pruned since, or never there",
    ],
)
def test_which_tier_is_ahead(local: list[Version], record: Manifest, remote: Manifest, behind: bool) -> None:
    assert is_behind({"a": local} if local else {}, record, Found(remote, 1), former_epoch=remote.epoch) is behind


@pytest.mark.parametrize(("former_epoch", "behind"), [(1, False), (2, True)])
def test_a_damaged_manifest_counts_as_another_hosts_when_another_host_had_taken_over(
    former_epoch: int, behind: bool
) -> None:
    assert is_behind({"a": line(1)}, KNOWN, Found(KNOWN, 1, is_damaged=True), former_epoch) is behind
