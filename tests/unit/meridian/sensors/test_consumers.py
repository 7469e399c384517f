"""What consumers of an edge's logs leave behind: a file that is damaged is never taken for one that says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.model.errors import LogDamaged
from meridian.sensors.consumers import FOLDER, Consumer, declare, declared, last_word

FUSION = Consumer("obs.radar", "fusion")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"seq": "7"}',
        b'{"seq": -1}',
        b'{"seq": 1e999}',
        b'{"seq": 7, "left_out": 8}',
        b'{"seq": 9223372036854775808}',
    ],
)
def test_a_file_that_cannot_be_read_is_damaged(content: bytes, tmp_path: Path) -> None:
    declare(tmp_path, FUSION, 7, left_out=1)
    assert (last_word(tmp_path, FUSION), declared(tmp_path, "obs.radar")) == ((7, 1), {"fusion": 7})
    (tmp_path / FOLDER / FUSION.file).write_bytes(content)
    with pytest.raises(LogDamaged, match="how far its consumer has come"):
        last_word(tmp_path, FUSION)
    with pytest.raises(LogDamaged, match="how far its consumer has come"):
        declared(tmp_path, "obs.radar")
