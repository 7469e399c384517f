"""Rollback points on disk: one that is damaged is named, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.model.errors import CheckpointDamaged
from holdfast.runtime.layout import Layout
from holdfast.runtime.rollback.points import made_points


@pytest.mark.parametrize("content", [None, b"", b"[]", b"\xff", b"[" * 100_000, b'{"batch": {"oseq": 1}}'])
def test_a_point_that_cannot_be_read_is_named(content: bytes | None, tmp_path: Path) -> None:
    point = Layout(tmp_path).points / "7"
    point.mkdir(parents=True)
    if content is not None:
        (point / "point.json").write_bytes(content)
    with pytest.raises(CheckpointDamaged, match=f"Remove the directory {point}"):
        made_points(Layout(tmp_path))
