"""What an error of the operating system or of SQLite says about a place, as tables."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from holdfast.disk.sqlite import connect, primary_code, sqlite_trouble
from holdfast.disk.trouble import Trouble, os_trouble

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = {
    Trouble.FULL: [errno.ENOSPC, errno.EDQUOT, errno.EFBIG],
    Trouble.READ_ONLY: [errno.EROFS, errno.EACCES, errno.EPERM],
    Trouble.GONE: [errno.ENOENT],
    Trouble.OTHER: [errno.EIO, errno.ENOTDIR, errno.ESTALE, None],
}
SQLITE = {
    Trouble.FULL: [sqlite3.SQLITE_FULL],
    Trouble.READ_ONLY: [sqlite3.SQLITE_READONLY, sqlite3.SQLITE_READONLY_DBMOVED],
    Trouble.GONE: [sqlite3.SQLITE_CANTOPEN],
    Trouble.BUSY: [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_LOCKED],
    Trouble.FOREIGN: [sqlite3.SQLITE_NOTADB],
    Trouble.DAMAGED: [sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CORRUPT_INDEX],
    Trouble.OTHER: [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT],
}


def answer(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("no")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(("number", "trouble"), [(n, trouble) for trouble, numbers in SYSTEM.items() for n in numbers])
def test_an_error_number(number: int | None, trouble: Trouble) -> None:
    assert os_trouble(number) is trouble


@pytest.mark.parametrize(("code", "trouble"), [(code, trouble) for trouble, codes in SQLITE.items() for code in codes])
def test_a_result_code_about_a_file_that_is_not_there(tmp_path: Path, code: int, trouble: Trouble) -> None:
    assert sqlite_trouble(answer(code), tmp_path / "c.db") is trouble


def test_a_failed_write_on_a_disk_without_room_means_that_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.disk.sqlite.has_no_room", lambda directory: directory == tmp_path)
    assert sqlite_trouble(answer(sqlite3.SQLITE_IOERR_WRITE), tmp_path / "c.db") is Trouble.FULL


def test_a_file_that_cannot_be_opened_in_a_directory_that_may_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: (path, mode) != (tmp_path, os.W_OK))
    assert sqlite_trouble(answer(sqlite3.SQLITE_CANTOPEN), tmp_path / "c.db") is Trouble.READ_ONLY


def test_a_file_that_is_there_and_cannot_be_opened_is_not_gone(tmp_path: Path) -> None:
    (tmp_path / "c.db").mkdir()
    with pytest.raises(sqlite3.OperationalError) as caught:
        connect(tmp_path / "c.db", "rwc")
    assert primary_code(caught.value) == sqlite3.SQLITE_CANTOPEN
    assert sqlite_trouble(caught.value, tmp_path / "c.db") is Trouble.OTHER


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_connection_makes_no_file_unless_it_is_told_to(tmp_path: Path, mode: str) -> None:
    with pytest.raises(sqlite3.OperationalError) as caught:
        connect(tmp_path / "c.db", mode)
    assert sqlite_trouble(caught.value, tmp_path / "c.db") is Trouble.GONE
    assert not (tmp_path / "c.db").exists()
