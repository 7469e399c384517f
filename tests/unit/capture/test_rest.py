"""When a file is taken to be at its end, and how long one that fails is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.tailing.rest import FIRST_PAUSE, IDLE_LOOKS, LONGEST_PAUSE, Rest, Trouble

looks = st.lists(st.tuples(st.integers(0, 3), st.floats(0, 3)), max_size=30)


@pytest.mark.req("M22")
@given(looks=looks, idle=st.floats(0, 5))
def test_the_end_is_believed_only_after_enough_looks_and_time_without_news(
    looks: list[tuple[int, float]], idle: float
) -> None:
    rest, now = Rest(0, 0.0), 0.0
    quiet, since = 0, 0.0
    for size, pause in looks:
        now += pause
        is_news = size != rest.size
        rest = rest.after(size, now)
        quiet, since = (0, now) if is_news else (quiet + 1, since)
        assert rest.is_end(now, idle) == (quiet >= IDLE_LOOKS and now - since >= idle)
        if is_news:
            assert not rest.is_end(now, idle), "anything new begins the wait anew"


@pytest.mark.req("M22")
@given(failures=st.integers(0, 60))
def test_the_pause_doubles_up_to_a_limit_and_there_is_one_only_after_a_failure(failures: int) -> None:
    trouble = Trouble()
    for _ in range(failures):
        trouble = trouble.again(7.0)
    expected = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE) if failures else 0.0
    assert trouble.pause == expected
    assert trouble.is_over(7.0) == (failures == 0)
    assert trouble.is_over(7.0 + LONGEST_PAUSE)
