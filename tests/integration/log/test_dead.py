"""A dead letter is kept once, whole, and in the order in which it was put."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterLog, entry_id
from holdfast.model.errors import LogFenced, LogFull
from tests.support.log_work import entry
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from pathlib import Path


def test_the_id_is_made_of_the_decision_alone() -> None:
    assert entry(1).entry_id == entry_id("sink:a", 7, 1) == replace(entry(1), attempts=9, message="x").entry_id
    assert len({entry_id("a", 1, 2), entry_id("a", 12, 0), entry_id("a1", 1, 2), entry_id("a", 2, 1)}) == 4


def test_what_is_put_is_there_whole_after_a_restart(tmp_path: Path) -> None:
    entries = [entry(1), entry(2, position="0/16B3748", event_schema_version=3, payload=b"\x00\xff", event_id="e")]
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        assert dead.put(entries) == 2
    with DeadLetterLog.open(tmp_path, epoch=2) as dead:
        assert list(dead.entries()) == entries


def test_an_entry_put_twice_is_there_once_as_it_was_first(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        assert dead.put([entry(1), entry(1)]) == 1
        assert dead.put([replace(entry(1), message="other"), entry(2)]) == 1
        assert [found.message for found in dead.entries()] == ["no", "no"]
        assert dead.count() == 2


def test_the_rejected_rows_of_a_batch_are_known_by_stage(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(4), entry(9)])
        assert dead.rejected("sink:a", 7) == {4, 9}
        assert dead.rejected("sink:b", 7) == dead.rejected("sink:a", 8) == frozenset()


def test_entries_are_read_from_any_number_on(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        dead.put([entry(5), entry(6)])
        dead.put([entry(7), entry(8)])
        read = [[found.ordinal for found in dead.entries(after)] for after in range(5)]
    assert read == [[5, 6, 7, 8], [6, 7, 8], [7, 8], [8], []]


def test_putting_nothing_is_nothing(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as dead:
        assert (dead.put([]), dead.count()) == (0, 0)


@pytest.mark.req("X11")
def test_an_owner_that_is_overtaken_puts_nothing(tmp_path: Path) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1) as old, DeadLetterLog.open(tmp_path, epoch=2) as new:
        with pytest.raises(LogFenced):
            old.put([entry(1)])
        assert new.count() == 0


def test_a_full_disk_refuses_an_entry_and_takes_it_when_there_is_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk, DeadLetterLog.open(disk / "dead", epoch=1) as dead:
        large = replace(entry(1), payload=bytes(2_000_000))
        with pytest.raises(LogFull):
            dead.put([large])
        assert dead.count() == 0
        assert dead.put([entry(1)]) == 1
