"""A few faults of a loaded pipeline in Spark; `make crash` lets a hundred happen, in an order chosen by a seed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.crash.faults import Fault
from tests.crash.killing import STATEFUL, Campaign

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.req("D1", "X5")
@pytest.mark.timeout(600)
def test_kills_and_a_full_disk_lose_and_double_nothing(tmp_path: Path) -> None:
    Campaign(tmp_path / "campaign", seed=7).run([Fault.JVM_ON_FULL_DISK, Fault.EVERYTHING])


@pytest.mark.req("X10")
@pytest.mark.timeout(600)
def test_state_survives_kills_and_comes_to_what_an_uninterrupted_run_does(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path / "campaign", seed=8, document=STATEFUL, may_fill_disk=False)
    lines = campaign.play([Fault.SPARK, Fault.GROUP])
    with closing(sqlite3.connect(tmp_path / "campaign" / "sink.db")) as db:
        found = db.execute("SELECT region, orders, total FROM totals ORDER BY region").fetchall()
    regions = [range(region or 7, lines + 1, 7) for region in range(7)]
    assert found == [(region, len(numbers), sum(numbers)) for region, numbers in enumerate(regions)]
