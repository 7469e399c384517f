"""The file of watched objects: read when it changes, and never believed when it is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from meridian.sensors.watched import FILE, Watched


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[]", b'{"objects": ["a", 7]}', b"[" * 100_000, b'{"objects": ' + b"9" * 5_000 + b"}"],
)
def test_a_file_that_cannot_be_read_changes_nothing(content: bytes, tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    (tmp_path / FILE).write_text('{"objects": ["25544"]}')
    assert watched.objects() == {"25544"}
    (tmp_path / FILE).write_bytes(content)
    assert watched.objects() == {"25544"}
    assert watched.refused == 1
