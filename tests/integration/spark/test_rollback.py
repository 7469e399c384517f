"""A pipeline with state goes back: Spark goes on from the state of then, in its own directory, and counts right."""

from __future__ import annotations

from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from tests.support import spark_pipelines, spark_state
from tests.support.spark_pipelines import run, totals, totals_in

from holdfast import BatchLimits, Files, SinkSpec
from holdfast.deliver import GoingBack

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast import Pipeline

EVENTS, MORE = 1500, 1800
SOON = BatchLimits(max_events=300, max_wait=timedelta(milliseconds=20))

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def pipeline(directory: Path, make: Callable[..., Pipeline], events: int = EVENTS) -> Pipeline:
    """Orders counted per region: one row a region in a table, and every count that ever was in files."""
    archive = SinkSpec(name="archive", sink=Files(directory / "files"))
    return make(directory, events=events).batch(SOON).write(archive)


def counts(directory: Path) -> dict[int, list[int]]:
    """The counts of each region in the files, in the order in which they came."""
    found: dict[int, list[int]] = {}
    for path in sorted((directory / "files").glob("*.parquet")):
        table = pq.read_table(path)
        for region, orders in zip(table["region"].to_pylist(), table["orders"].to_pylist(), strict=True):
            found.setdefault(region, []).append(orders)
    return found


def check_counted_right(directory: Path, events: int = MORE) -> None:
    """Every region was counted up to its total, and no count came twice: as in a run that never went back."""
    expected = totals(events)
    assert totals_in(directory) == expected
    found = counts(directory)
    assert {region: ups[-1] for region, ups in found.items()} == {region: n for region, (n, _) in expected.items()}
    assert all(ups == sorted(set(ups)) for ups in found.values()), found


def goes_back(whole: Pipeline, directory: Path, where: int) -> None:
    """Go back to a target by its place in the list, run again, and see that all is as if it never had."""
    files = {path: path.stat().st_ino for path in (directory / "pipeline" / "spark").rglob("*") if path.is_file()}
    targets = whole.rollbacks().targets()
    assert len(targets) >= 4
    preview = whole.rollbacks().preview(str(targets[where].oseq))
    assert [told.sink.effect for told in preview.sinks] == [GoingBack.REFUSES_OLDER, GoingBack.ENDS_EQUAL]
    done = whole.rollbacks().go_back(str(targets[where].oseq), by="somebody")
    assert done.generations is not None
    opened = directory / "pipeline" / "spark" / str(done.generations.opened)
    inodes = {path.stat().st_ino for path in opened.rglob("*") if path.is_file()}
    assert inodes
    assert inodes <= set(files.values()), "every file is a link to one that was there"
    left = directory / "pipeline" / "spark" / str(done.generations.left)
    assert {path: path.stat().st_ino for path in left.rglob("*") if path.is_file()} == {
        path: inode for path, inode in files.items() if path.is_relative_to(left)
    }, "what was left is as it was"
    run(whole, patience=200)
    check_counted_right(directory)


@pytest.mark.req("X10", "K1")
def test_an_aggregation_goes_back_to_the_newest_a_middle_and_the_oldest_batch(tmp_path: Path) -> None:
    run(pipeline(tmp_path, spark_pipelines.stateful))
    check_counted_right(tmp_path, EVENTS)
    for where in (-1, 2, 0):
        goes_back(pipeline(tmp_path, spark_pipelines.stateful, MORE), tmp_path, where)


@pytest.mark.req("X10", "K1")
def test_the_users_own_state_goes_back(tmp_path: Path) -> None:
    if find_spec("google.protobuf") is None:
        pytest.skip("protobuf is not installed, which Spark needs for transformWithState in Python")
    run(pipeline(tmp_path, spark_state.pipeline), patience=200)
    goes_back(pipeline(tmp_path, spark_state.pipeline, MORE), tmp_path, 1)
