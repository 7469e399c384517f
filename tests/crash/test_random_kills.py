"""A few random kills of a loaded pipeline in Spark; `make crash` does a hundred."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.killing import Campaign
from tests.support.spark_pipelines import totals, totals_in

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.req("D1", "X5")
@pytest.mark.timeout(400)
def test_random_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    Campaign(tmp_path / "pipeline", seed=7, events=60_000).run(3)


@pytest.mark.req("X10")
@pytest.mark.timeout(400)
def test_state_survives_kills_and_comes_to_what_an_uninterrupted_run_does(tmp_path: Path) -> None:
    Campaign(tmp_path / "pipeline", seed=8, events=60_000, kind="stateful").kill(2)
    assert totals_in(tmp_path / "pipeline") == totals(60_000)
