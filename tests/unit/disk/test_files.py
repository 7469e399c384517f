"""What is synced, and which file has a name."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from holdfast.disk.files import has_no_room, identity, sync_directory, sync_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[os.stat_result]:
    """What the operating system was asked to sync."""
    seen: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.append(os.fstat(descriptor)))
    return seen


def test_a_file_is_synced_and_nothing_else(tmp_path: Path, synced: list[os.stat_result]) -> None:
    (tmp_path / "a").touch()
    sync_file(tmp_path / "a")
    assert [found.st_ino for found in synced] == [(tmp_path / "a").stat().st_ino]


def test_a_directory_is_synced_and_nothing_else(tmp_path: Path, synced: list[os.stat_result]) -> None:
    sync_directory(tmp_path)
    assert [(found.st_ino, stat.S_ISDIR(found.st_mode)) for found in synced] == [(tmp_path.stat().st_ino, True)]


def test_a_file_that_took_the_place_of_another_is_another(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    (tmp_path / "b").touch()
    first = identity(path)
    assert first == identity(path)
    (tmp_path / "b").rename(path)
    assert identity(path) not in (first, None)


def test_a_file_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert identity(tmp_path / "none") is None


def test_a_place_of_which_nobody_can_tell_is_not_full(tmp_path: Path) -> None:
    assert not has_no_room(tmp_path)
    assert not has_no_room(tmp_path / "none")
