"""What becomes of new dead letters, for every policy and every number of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.log.dead_limits import DeadLetterLimits, Overflow, admission
from holdfast.model.errors import InvalidPipeline

SIZES = st.integers(0, 50)


@given(st.sampled_from(Overflow), st.integers(1, 40), SIZES, SIZES, st.integers(1, 50))
def test_the_bound_holds_and_done_entries_go_before_others(
    overflow: Overflow, bound: int, new_before: int, done: int, arriving: int
) -> None:
    kept = new_before + done
    decided = admission(DeadLetterLimits(bound, overflow=overflow), kept=kept, done=done, new=arriving)
    after = kept + decided.taken - decided.cleared - decided.evicted
    assert after <= max(bound, new_before), "the bound holds, unless there were too many before"
    assert 0 <= decided.taken <= arriving
    assert 0 <= decided.cleared <= done
    if decided.evicted or decided.taken < arriving:
        assert decided.cleared == done, "as long as an entry is done, none goes that is not and none is turned away"
    if overflow is Overflow.DROP_OLDEST:
        assert decided.taken == arriving
    else:
        assert decided.evicted == 0
    if new_before < bound:
        assert decided.taken > 0, "where there is room, something is taken"


@pytest.mark.req("D12")
def test_nothing_is_dropped_unless_somebody_chose_that() -> None:
    assert DeadLetterLimits().overflow is Overflow.BLOCK


@pytest.mark.parametrize("values", [{"max_entries": 0}, {"max_age": timedelta(seconds=-1)}])
def test_limits_that_keep_nothing_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(InvalidPipeline):
        DeadLetterLimits(**values)  # type: ignore[arg-type]
