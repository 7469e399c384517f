"""A SQLite store whose file is damaged is refused by a typed error, whatever SQLite makes of the bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.checkpoint import Commit, Put, SqliteStore
from holdfast.model.errors import CheckpointDamaged


def test_a_schema_with_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    """SQLite quotes it in its message, and Python cannot decode the message."""
    path = tmp_path / "store.db"
    with SqliteStore(path) as store:
        store.commit(Commit(store.take_over(), [Put("a", b"1")]))
    path.write_bytes(path.read_bytes().replace(b"NOT NULL", b"NOT \x81ULL", 1))
    with pytest.raises(CheckpointDamaged, match=r"store\.db"):
        SqliteStore(path)
