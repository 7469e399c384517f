"""Spark's checkpoint directory is read as Spark 4.1 writes it, and what is damaged is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.model.errors import PipelineDiverged
from holdfast.runtime.spark_checkpoint import Plan, SparkCheckpoint

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def checkpoint(tmp_path: Path) -> SparkCheckpoint:
    """Three batches planned, two finished, as Spark leaves them (with its checksum files)."""
    for folder in ("offsets", "commits", "state/0/0"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "metadata").write_text('{"id":"3c007e12-16f4-479c-a4b5-36c8eb71b613"}')
    for number in range(3):
        text = f'v1\n{{"batchWatermarkMs":0,"conf":{{}}}}\n{{"u": {(number + 1) * 10}}}'
        (tmp_path / "offsets" / str(number)).write_text(text)
        (tmp_path / "offsets" / f".{number}.crc").write_bytes(b"crc")
    for number in range(2):
        (tmp_path / "commits" / str(number)).write_text('v2\n{"nextBatchWatermarkMs":0}')
    return SparkCheckpoint(tmp_path)


def test_what_was_planned_and_finished(checkpoint: SparkCheckpoint) -> None:
    assert checkpoint.query_id() == "3c007e12-16f4-479c-a4b5-36c8eb71b613"
    assert checkpoint.newest_planned() == 2
    assert checkpoint.newest_finished() == 1
    assert checkpoint.plan(2) == Plan(2, {"u": 20}, {"u": 30})
    assert checkpoint.plan(0) == Plan(0, {}, {"u": 10})


def test_nothing_was_ever_started(tmp_path: Path) -> None:
    checkpoint = SparkCheckpoint(tmp_path / "none")
    assert not checkpoint.exists()
    assert checkpoint.query_id() is None
    assert checkpoint.newest_planned() is None


@pytest.mark.parametrize("text", ["", "v1\n{}", "v1\n{}\nnot json", 'v1\n{}\n["u"]'])
def test_a_damaged_plan_is_named(checkpoint: SparkCheckpoint, text: str) -> None:
    (checkpoint.directory / "offsets" / "2").write_text(text)
    with pytest.raises(PipelineDiverged, match="offsets/2"):
        checkpoint.plan(2)


def test_damaged_metadata_is_named(checkpoint: SparkCheckpoint) -> None:
    (checkpoint.directory / "metadata").write_text("{")
    with pytest.raises(PipelineDiverged, match="metadata"):
        checkpoint.query_id()


def test_state_files_are_synced_once_and_before_the_commit(
    checkpoint: SparkCheckpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(
        "holdfast.runtime.spark_checkpoint._sync_file",
        lambda path: synced.append(path.relative_to(checkpoint.directory).as_posix()),
    )
    monkeypatch.setattr("holdfast.runtime.spark_checkpoint._sync_directory", lambda path: None)
    state = checkpoint.directory / "state/0/0"
    (state / "1_a.changelog").write_bytes(b"1")
    checkpoint.sync_finished(0)
    (state / "2_b.changelog").write_bytes(b"2")
    checkpoint.sync_finished(1)
    assert synced == ["state/0/0/1_a.changelog", "commits/0", "state/0/0/2_b.changelog", "commits/1"]
