"""A few random kills of fusion and of its subscriber; `make crash` does a hundred."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.crash.fusion_killing import FusionCampaign
from tests.support.fusion_pipeline import Pairs, Watching

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.req("DLV-14")
@pytest.mark.timeout(600)
def test_random_kills_lose_and_repeat_no_alert_at_the_subscriber(tmp_path: Path) -> None:
    tally = FusionCampaign(tmp_path, seed=3, watching=Watching(Pairs(), seconds=300, each=200)).run(3)
    assert tally.under_load
    assert tally.of_subscriber
