"""Which of Spark's files belong to a batch: by the names that Spark 4.1 gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.runtime.rollback.linking import link_checkpoint

if TYPE_CHECKING:
    from pathlib import Path

ID = "52c11656-3783-4f92-be10-7532e57b1aad"
ALWAYS = [
    "metadata",
    ".metadata.crc",
    "state/0/0/_metadata/schema",
    "state/0/_metadata/metadata",
    "state/0/0/SSTs/000008-13139f86-7513-450b-a061-5e5ae6d65af7.sst",
    "state/0/_metadata/v2/0",
    f"state/0/_stateSchema/default/0_{ID}",
]
OF_BATCH_2 = [
    *(f"{log}/{name}" for log in ("offsets", "commits") for name in ("0", ".0.crc", "1", "2", ".2.crc")),
    f"state/0/0/1_{ID}.zip",
    f"state/0/0/2_{ID}.changelog",
    f"state/0/0/3_{ID}.changelog",
    f"state/0/0/.3_{ID}.changelog.crc",
]
LATER = [
    "offsets/3",
    "offsets/.3.crc",
    "commits/3",
    f"state/0/0/4_{ID}.changelog",
    f"state/0/0/.4_{ID}.changelog.crc",
    f"state/0/0/4_{ID}.zip",
    "state/0/_metadata/v2/3",
    f"state/0/_stateSchema/default/3_{ID}",
]


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    for name in (*ALWAYS, *OF_BATCH_2, *LATER, "point.json"):
        path = tmp_path / "spark" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "spark"


def names(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_what_was_there_after_the_batch_is_linked_and_nothing_else(spark: Path, tmp_path: Path) -> None:
    for _ in range(2):
        linked = link_checkpoint(spark, tmp_path / "copy", 2)
        assert len(linked) == len(ALWAYS) + len(OF_BATCH_2)
    assert names(tmp_path / "copy") == {*ALWAYS, *OF_BATCH_2}
    assert all((tmp_path / "copy" / name).samefile(spark / name) for name in ALWAYS)


def test_a_point_needs_the_last_two_batches_of_the_logs(spark: Path, tmp_path: Path) -> None:
    link_checkpoint(spark, tmp_path / "copy", 2, since=1)
    without = {"offsets/0", "offsets/.0.crc", "commits/0", "commits/.0.crc"}
    assert names(tmp_path / "copy") == {*ALWAYS, *OF_BATCH_2} - without


def test_what_one_of_them_removes_stays_in_the_other(spark: Path, tmp_path: Path) -> None:
    link_checkpoint(spark, tmp_path / "copy", 2)
    (spark / "offsets" / "2").unlink()
    assert (tmp_path / "copy" / "offsets" / "2").read_text() == "offsets/2"
