"""Several pipelines in one process share one Spark application, each with a session of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.spark_pipelines import passed, stateful, stateless, totals, totals_in

from holdfast import Until

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 3000


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
def test_two_pipelines_do_not_mix(tmp_path: Path) -> None:
    """Both name their view `events`; neither sees the other's."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = stateless(tmp_path / "one", events=EVENTS), stateful(tmp_path / "two", events=2 * EVENTS)
    for pipeline in (one, two):
        pipeline.start()
    for pipeline in (one, two):
        assert pipeline.wait(until=Until.CAUGHT_UP, timeout=120), pipeline.status()
        pipeline.drain()
    assert table_numbers(tmp_path / "one" / "sink.db") == file_numbers(tmp_path / "one" / "files") == passed(EVENTS)
    assert totals_in(tmp_path / "two") == totals(2 * EVENTS)
