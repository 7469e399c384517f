"""A file store that is cut off at any durable step, by a crash or a loss of power: the pair, or the pair before."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from random import Random

import pytest

from holdfast.checkpoint.commitlog.disk import Disk
from holdfast.checkpoint.file import FileStore
from tests.support.disks import Crash, LoggingDisk, PowerLossDisk, dying_at
from tests.support.pairs import NEW, OLD, Prepared, prepare, read, write

LARGE = Random(1).randbytes(100_000)


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    return prepare(tmp_path)


def outcome_of_dying_at(prepared: Prepared, number: int) -> dict[str, bytes] | None:
    """The pair found after a crash before a step; None when the commit has no such step."""
    directory = prepared.copy()
    try:
        write(FileStore(directory, disk=dying_at(number)), NEW, prepared.epoch)
    except Crash:
        return read(FileStore(directory))
    return None


@pytest.mark.req("K1")
def test_a_crash_at_any_step_leaves_one_of_the_two_pairs_and_never_half(prepared: Prepared) -> None:
    outcomes = []
    for number in count():
        outcome = outcome_of_dying_at(prepared, number)
        if outcome is None:
            break
        outcomes.append(outcome)
    assert outcomes[0] == OLD
    assert outcomes[-1] == NEW
    assert all(outcome in (OLD, NEW) for outcome in outcomes)


@pytest.mark.req("K2")
def test_bytes_are_synced_before_the_name_appears_and_the_directory_after(prepared: Prepared) -> None:
    disk = LoggingDisk()
    store = FileStore(prepared.directory, disk=disk)
    disk.steps.clear()
    write(store, NEW, prepared.epoch)
    steps = [step for step, _ in disk.steps if step != "remove"]
    assert steps == ["write", "sync", "publish", "sync_directory"]
    assert disk.steps[0][1] == disk.steps[1][1]
    assert disk.steps[3][1] == disk.steps[2][1].parent


@pytest.mark.req("K2")
def test_what_a_reader_sees_after_a_crash_of_the_writer_survives_a_loss_of_power(tmp_path: Path) -> None:
    """The writer died between publishing and syncing the directory; whoever opens the store makes the name durable."""
    root = tmp_path / "disk"
    root.mkdir()
    disk = PowerLossDisk(root)
    store = FileStore(root / "store", disk=disk)
    epoch = store.take_over()
    disk.dies_at = disk.step + len(["write", "sync", "publish"])
    with pytest.raises(Crash):
        write(store, NEW, epoch)
    disk.dies_at = None
    assert read(FileStore(root / "store", disk=disk)) == NEW
    disk.lose_power(tmp_path / "after", names_survive=False)
    assert read(FileStore(tmp_path / "after" / "store")) == NEW


def run(disk: Disk, directory: Path) -> None:
    """Everything a first owner does, a large payload included."""
    store = FileStore(directory, disk=disk)
    epoch = store.take_over()
    write(store, OLD, epoch)
    write(store, NEW, epoch)
    store.put_raw("large", LARGE, epoch=epoch)


def found_after(directory: Path) -> dict[str, bytes]:
    store = FileStore(directory)
    large = store.get_raw("large")
    assert large is None or large.payload == LARGE
    return read(store)


@pytest.mark.req("K2")
def test_what_was_committed_survives_a_loss_of_power(tmp_path: Path) -> None:
    root = tmp_path / "disk"
    root.mkdir()
    disk = PowerLossDisk(root)
    run(disk, root / "deep" / "store")
    disk.lose_power(tmp_path / "after", names_survive=False)
    found = FileStore(tmp_path / "after" / "deep" / "store")
    assert read(found) == NEW
    assert found.get_version("large", 1).payload == LARGE


@pytest.mark.parametrize("names_survive", [False, True])
@pytest.mark.req("K1", "K2")
def test_a_loss_of_power_at_any_step_leaves_one_of_the_pairs(tmp_path: Path, names_survive: bool) -> None:
    outcomes = []
    for number in count():
        root = tmp_path / f"disk-{number}"
        root.mkdir()
        disk = PowerLossDisk(root, dies_at=number)
        try:
            run(disk, root / "store")
        except Crash:
            disk.lose_power(tmp_path / f"after-{number}", names_survive=names_survive)
            outcomes.append(found_after(tmp_path / f"after-{number}" / "store"))
            continue
        break
    assert [outcome for outcome in outcomes if outcome not in ({}, OLD, NEW)] == []
    assert outcomes == sorted(outcomes, key=[{}, OLD, NEW].index)
    assert outcomes[-1] == NEW
