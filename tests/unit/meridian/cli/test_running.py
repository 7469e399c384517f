"""What `meridian run` says at its end."""

from __future__ import annotations

import pytest

from holdfast.ledger import StopReason, StopRecord
from meridian.cli.running import how_it_ended

FORCED = "Stopped at once, without waiting for what was under way"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (None, "Stopped in order."),
        (StopRecord(StopReason.GRACEFUL), "Stopped in order."),
        (StopRecord(StopReason.FORCED), f"{FORCED}."),
        (
            StopRecord(StopReason.FORCED, remaining={"alerts": (4, 5)}, abandoned={"alerts": (3,), "words": (3,)}),
            f"{FORCED}; 4 batches are written to their tables after the next start.",
        ),
        (
            StopRecord(StopReason.GRACEFUL, remaining={"alerts": (4,)}),
            "Stopped in order; 1 batch is written to its table after the next start.",
        ),
    ],
)
def test_it_says_how_it_ended_and_what_is_left_to_do(record: StopRecord | None, said: str) -> None:
    assert how_it_ended(record) == said
