"""What batches took is added up, phase by phase, and how long each of them waited for its state."""

from __future__ import annotations

import pytest

from holdfast.model.histogram import COARSE_BOUNDS
from holdfast.runtime.timing import BatchTime, Timing


def test_nothing_was_run_yet() -> None:
    assert (Timing().batches, Timing().phases, sum(Timing().state_counts)) == (0, {}, 0)


def test_phases_are_added_up_and_one_that_a_batch_did_not_have_stays() -> None:
    first = BatchTime(0, {"planning": 0.5, "run": 1.0}, state=None)
    timing = Timing().after(first).after(BatchTime(1, {"run": 2.0}, state=None))
    assert timing.batches == 2
    assert timing.phases == {"planning": 0.5, "run": 3.0}


@pytest.mark.req("CKP-05")
def test_every_state_is_counted_where_it_belongs() -> None:
    timing = Timing()
    for number, seconds in enumerate((0.0, 0.005, 0.0051, 5.0, 7.0)):
        timing = timing.after(BatchTime(number, {}, state=seconds))
    assert timing.state_counts == (2, 1, *[0] * (len(COARSE_BOUNDS) - 3), 1, 1)
    assert timing.state_seconds == pytest.approx(12.0101)


def test_a_batch_without_state_waited_for_none() -> None:
    assert sum(Timing().after(BatchTime(0, {}, state=None)).state_counts) == 0
