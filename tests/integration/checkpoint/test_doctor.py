"""The doctor on real stores: what it finds, that a dry run changes nothing, and that only the owner repairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

from holdfast.checkpoint.contract import CheckpointStore, Commit, Origin, Put, TypedKey
from holdfast.checkpoint.doctor import Diagnosis, DryRun, Finding, FindingKind, Outcome, examine, repair
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.recovery import RecoveryPath, recover
from holdfast.checkpoint.sqlite import SqliteStore
from holdfast.ledger.cursors import Cursors, CursorsCodec
from holdfast.model.errors import CheckpointDamaged, Fenced
from tests.support.backends import FileBackend, SqliteBackend
from tests.support.damage import flip_in_files
from tests.support.replicas import OFFSET, STATE, Switched, read_pair, stepped, write_pair
from tests.support.stores import StoreFactory, TickingClock

LARGE = Random(7).randbytes(100_000)


def written(store: CheckpointStore, pairs: int = 3) -> int:
    epoch = store.take_over()
    for number in range(1, pairs + 1):
        write_pair(store, number, epoch)
    return epoch


def kinds(diagnosis: Diagnosis) -> set[FindingKind]:
    return {finding.kind for finding in diagnosis.findings}


def only(diagnosis: Diagnosis, kind: FindingKind) -> Finding:
    (found,) = [finding for finding in diagnosis.findings if finding.kind is kind]
    return found


def snapshot(directory: Path) -> dict[str, tuple[bytes, int]]:
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file()}


# On every store


def test_a_healthy_store_has_no_findings(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    diagnosis = examine(store, together=[(STATE, OFFSET)])
    assert diagnosis.is_healthy, str(diagnosis)
    assert [(key.key, key.versions, key.newest, key.is_whole) for key in diagnosis.keys] == [
        (OFFSET, 3, 3, True),
        (STATE, 3, 3, True),
    ]
    assert (diagnosis.epoch, diagnosis.format) == (epoch, 1)
    assert repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO) == []


@pytest.mark.req("X19", "K1")
def test_a_damaged_newest_version_is_found_and_falls_back_with_its_commit_mates(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    store_factory.tamper(STATE, 3)
    diagnosis = examine(store)
    assert kinds(diagnosis) == {FindingKind.DAMAGED_NEWEST}
    assert [action.outcome for action in repair(store, diagnosis, epoch=epoch)] == [Outcome.WOULD_DO]
    with pytest.raises(CheckpointDamaged):
        store.get_raw(STATE)
    assert [action.outcome for action in repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)] == [Outcome.DONE]
    assert read_pair(store) == (2, 2)
    assert [store.versions(key)[-1].origin for key in (STATE, OFFSET)] == [Origin.FALLBACK, Origin.FALLBACK]


def test_a_damaged_older_version_is_forgotten(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    store_factory.tamper(STATE, 2)
    diagnosis = examine(store)
    assert kinds(diagnosis) == {FindingKind.DAMAGED_OLDER}
    repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
    assert [version.number for version in store.versions(STATE)] == [3]
    assert (read_pair(store), examine(store).is_healthy) == ((3, 3), True)


@pytest.mark.req("X19")
def test_damage_without_a_whole_version_has_no_repair(store_factory: StoreFactory) -> None:
    store = store_factory.open()
    epoch = written(store, 1)
    store_factory.tamper(STATE, 1)
    diagnosis = examine(store)
    assert only(diagnosis, FindingKind.DAMAGED_NEWEST).cannot
    assert repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO) == []


@pytest.mark.req("D3", "X11")
def test_a_repair_by_a_former_owner_is_refused(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    store_factory.tamper(STATE, 3)
    diagnosis = examine(store)
    store_factory.open().take_over()
    with pytest.raises(Fenced):
        repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
    assert [version.number for version in store.versions(STATE)] == [1, 2, 3]


def test_a_repair_of_a_store_that_went_on_meanwhile_is_not_done(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    store_factory.tamper(STATE, 3)
    diagnosis = examine(store)
    write_pair(store, 9, epoch)
    assert [action.outcome for action in repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)] == [Outcome.NOT_DONE]
    assert read_pair(store) == (9, 9)


def test_a_clock_that_went_back_is_told(store_factory: StoreFactory) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    store = store_factory.open(lambda: now)
    epoch = store.take_over()
    for seconds in (10, 20, -5):
        now += timedelta(seconds=seconds)
        store.put_raw("k", b"", epoch=epoch)
    finding = only(examine(store), FindingKind.CLOCK_BACK)
    assert finding.place == "'k' version 3"
    assert finding.cannot


def test_keys_written_apart_are_told(store_factory: StoreFactory) -> None:
    store = store_factory.open(TickingClock())
    epoch = written(store)
    assert examine(store, together=[(STATE, OFFSET)]).is_healthy
    store.put_raw(STATE, b"state 4", epoch=epoch)
    assert kinds(examine(store, together=[(STATE, OFFSET)])) == {FindingKind.WRITTEN_APART}


# Cursors

CURSORS = TypedKey("cursors", CursorsCodec())
GOOD = CursorsCodec().encode(Cursors({"kafka": 3}, committed=3))


@pytest.mark.req("X19")
@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (b"not cursors", FindingKind.CURSORS_UNREADABLE),
        (json.dumps({"format": 99}).encode(), FindingKind.CURSORS_UNREADABLE),
        (CursorsCodec().encode(Cursors({"kafka": 3}, committed=4)), FindingKind.CURSORS_IMPOSSIBLE),
    ],
)
def test_cursors_that_make_no_sense_fall_back_to_those_that_do(
    tmp_path: Path, payload: bytes, kind: FindingKind
) -> None:
    with SqliteStore(tmp_path / "c.db", clock=TickingClock()) as store:
        epoch = store.take_over()
        for data in (GOOD, payload):
            store.commit(Commit(epoch, [Put("cursors", data), Put("other", data)]))
        assert examine(store).is_healthy
        diagnosis = examine(store, cursors=[CURSORS])
        assert kinds(diagnosis) == {kind}
        repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
        assert store.get(CURSORS) == Cursors({"kafka": 3}, committed=3)
        assert store.versions("other")[-1].restored_from == 1


# What only files can have


def spoil_nothing(directory: Path) -> None:
    pass


def spoil_newest_commit(directory: Path) -> None:
    newest = max((directory / "commits").iterdir())
    newest.chmod(0o600)
    newest.write_bytes(b"torn")


def spoil_older_commit(directory: Path) -> None:
    older = sorted((directory / "commits").iterdir())[2]
    older.chmod(0o600)
    older.write_bytes(b"torn")


def leave_temporary_file(directory: Path) -> None:
    (directory / "tmp" / "0123456789abcdef").write_bytes(b"half")


def leave_foreign_file(directory: Path) -> None:
    (directory / "notes.txt").write_bytes(b"mine")


def leave_foreign_file_inside(directory: Path) -> None:
    (directory / "commits" / "notes.txt").write_bytes(b"mine")


def leave_orphan_blob(directory: Path) -> None:
    (directory / "blobs" / f"{2:020d}-0123456789abcdef-0").write_bytes(b"lost")


FAULTS: dict[FindingKind, list[Callable[[Path], None]]] = {
    FindingKind.DAMAGED_COMMIT: [spoil_newest_commit, spoil_older_commit],
    FindingKind.LEFTOVER: [leave_temporary_file],
    FindingKind.FOREIGN: [leave_foreign_file, leave_foreign_file_inside],
    FindingKind.ORPHAN: [leave_orphan_blob],
}
EVERY_FAULT = [(kind, spoil) for kind, spoils in FAULTS.items() for spoil in spoils]


@pytest.mark.parametrize(("kind", "spoil"), EVERY_FAULT)
def test_a_fault_in_the_files_is_found(tmp_path: Path, kind: FindingKind, spoil: Callable[[Path], None]) -> None:
    with FileStore(tmp_path, clock=TickingClock()) as store:
        epoch = written(store)
        store.put_raw("large", LARGE, epoch=epoch)
    spoil(tmp_path)
    with FileStore(tmp_path) as store:
        assert kind in kinds(examine(store))


@pytest.mark.parametrize("spoil", [spoil_nothing, *(spoil for _, spoil in EVERY_FAULT)])
def test_a_dry_run_changes_no_byte(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with FileStore(tmp_path, clock=TickingClock()) as store:
        epoch = written(store)
        store.put_raw("large", LARGE, epoch=epoch)
    spoil(tmp_path)
    with FileStore(tmp_path) as store:
        before = snapshot(tmp_path)
        diagnosis = examine(store)
        assert all(action.outcome is Outcome.WOULD_DO for action in repair(store, diagnosis, epoch=epoch))
        assert snapshot(tmp_path) == before


def test_a_dry_run_changes_no_byte_of_an_sqlite_file(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path / "c.db")
    with backend.open(TickingClock()) as store:
        epoch = written(store)
    backend.tamper(STATE, 3)
    with backend.open() as store:
        before = (tmp_path / "c.db").read_bytes()
        assert repair(store, examine(store), epoch=epoch)
        assert (tmp_path / "c.db").read_bytes() == before
        assert [version.number for version in store.versions(STATE)] == [1, 2, 3]


@pytest.mark.parametrize("spoil", [leave_temporary_file, leave_orphan_blob])
def test_what_nothing_refers_to_is_removed(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with FileStore(tmp_path, clock=TickingClock()) as store:
        epoch = written(store)
        store.put_raw("large", LARGE, epoch=epoch)
        spoil(tmp_path)
        repair(store, examine(store), epoch=epoch, dry_run=DryRun.NO)
        assert examine(store).is_healthy
        stored = store.get_raw("large")
        assert stored is not None
        assert stored.payload == LARGE


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    with FileStore(tmp_path) as store:
        epoch = written(store)
        leave_foreign_file(tmp_path)
        repair(store, examine(store), epoch=epoch, dry_run=DryRun.NO)
    assert (tmp_path / "notes.txt").read_bytes() == b"mine"


@pytest.mark.req("X19", "K1")
def test_an_unreadable_newest_commit_is_repaired_by_its_new_owner(tmp_path: Path) -> None:
    with FileStore(tmp_path, clock=TickingClock()) as store:
        former = written(store)
    spoil_newest_commit(tmp_path)
    with FileStore(tmp_path) as store:
        diagnosis = examine(store)
        assert kinds(diagnosis) == {FindingKind.DAMAGED_COMMIT, FindingKind.DOUBT}
        with pytest.raises(Fenced):
            repair(store, diagnosis, epoch=former, dry_run=DryRun.NO)
        epoch = store.take_over()
        actions = repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
        assert [action.outcome for action in actions] == [Outcome.DONE, Outcome.DONE]
        assert (read_pair(store), store.get_raw("never-written")) == ((2, 2), None)
        assert kinds(examine(store)) <= {FindingKind.DAMAGED_COMMIT, FindingKind.HOLE}


def test_a_hole_that_an_unreadable_commit_left_in_the_versions_is_explained(tmp_path: Path) -> None:
    with FileStore(tmp_path, clock=TickingClock()) as store:
        written(store)
    spoil_newest_commit(tmp_path)
    with FileStore(tmp_path, clock=TickingClock()) as store:
        write_pair(store, 4, store.take_over())
        holes = [finding.place for finding in examine(store).findings if finding.kind is FindingKind.HOLE]
    assert holes == ["'offset' between version 2 and 4", "'state' between version 2 and 4"]


# Two tiers, and the text


def test_the_doctor_looks_at_the_local_tier_and_repairs_through_the_replicated_store(tmp_path: Path) -> None:
    remote = Switched()
    with stepped(FileStore(tmp_path, clock=TickingClock()), remote) as store:
        epoch = written(store)
        flip_in_files(tmp_path, b"state 3")
        diagnosis = examine(store)
        assert FindingKind.DAMAGED_NEWEST in kinds(diagnosis)
        repair(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
        store.replicate_once()
        assert read_pair(remote) == (2, 2)
        remote.is_down = True
        store.replicate_once()
        assert kinds(examine(store)) == {FindingKind.DAMAGED_OLDER, FindingKind.TIERS_APART}


def test_what_the_doctor_says_will_happen_happens(tmp_path: Path) -> None:
    backend = FileBackend(tmp_path)
    with backend.open(TickingClock()) as store:
        written(store)
    backend.tamper(STATE, 3)
    with backend.open(TickingClock()) as store:
        assert "falls back" in only(examine(store), FindingKind.DAMAGED_NEWEST).next_start
        found = recover(store, (STATE, OFFSET), epoch=store.take_over(), paths=recovery_path_total())
        assert found.path is RecoveryPath.LOCAL_FALLBACK


def test_the_text_shows_the_keys_and_each_finding_with_its_remedy(tmp_path: Path) -> None:
    backend = FileBackend(tmp_path)
    with backend.open(TickingClock()) as store:
        epoch = written(store)
        store.put_raw("large", LARGE, epoch=epoch)
    backend.tamper(STATE, 3)
    with backend.open() as store:
        lines = str(examine(store)).splitlines()
    assert lines[0] == f"FileStore {tmp_path}: format 1, epoch 1, 3 keys"
    assert lines[1].split() == ["key", "versions", "newest", "size", "all", "written", "state"]
    assert lines[2].split()[:5] == ["large", "1", "1", "100.0", "kB"]
    assert lines[4].split()[-1] == "DAMAGED"
    text = " ".join(" ".join(lines).split())
    assert "1 finding: 1. damaged newest version: 'state' version 3" in text
    assert "repair Fall back in one commit: 'offset' to version 2, 'state' to version 2." in text
    assert max(map(len, lines)) <= 120
