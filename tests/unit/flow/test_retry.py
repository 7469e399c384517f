"""The schedule of retries, as properties: bounded pauses, a budget that is kept, an outcome that stays."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.flow.retry import RetryPolicy, Tries
from holdfast.model.errors import InvalidFlowPolicy

seconds = st.floats(0.001, 100.0)


@st.composite
def policies(draw: st.DrawFn) -> RetryPolicy:
    base = draw(seconds)
    return RetryPolicy(
        base=base, cap=base * draw(st.floats(1.0, 100.0)), attempts=draw(st.integers(1, 20)), elapsed=draw(seconds)
    )


def fail_until_exhausted(policy: RetryPolicy, seed: int, asked: float = 0.0) -> list[Tries]:
    """Every state of a batch whose attempts take no time and always fail."""
    random, now, tries = Random(seed), 0.0, Tries(policy)
    states = []
    while not tries.exhausted:
        tries = tries.after_failure(now, random, at_least=asked)
        states.append(tries)
        now += tries.pause
    return states


@pytest.mark.req("M18")
@given(policies(), st.integers())
def test_no_pause_is_longer_than_the_cap_or_shorter_than_the_base(policy: RetryPolicy, seed: int) -> None:
    assert all(policy.base <= tries.pause <= policy.cap for tries in fail_until_exhausted(policy, seed))


@pytest.mark.req("M18")
@given(policies(), st.integers(), st.floats(0.0, 500.0))
def test_a_sink_that_asks_for_a_pause_gets_it_or_the_budget_is_used_up(
    policy: RetryPolicy, seed: int, asked: float
) -> None:
    assert all(tries.pause >= asked or tries.exhausted for tries in fail_until_exhausted(policy, seed, asked))


@pytest.mark.req("M18")
@given(policies(), st.integers(), st.floats(0.0, 500.0))
def test_attempts_and_time_never_exceed_the_budget(policy: RetryPolicy, seed: int, asked: float) -> None:
    states = fail_until_exhausted(policy, seed, asked)
    assert len(states) <= policy.attempts
    assert sum(tries.pause for tries in states[:-1]) <= policy.elapsed * 1.000001


@pytest.mark.req("M18")
def test_the_time_of_the_budget_runs_from_the_first_failure_not_from_the_last() -> None:
    """Failures come 8 s apart, and 20 s are allowed: the pause of 1 s behind the fourth, at 24 s, is beyond them."""
    policy = RetryPolicy(base=1, cap=1, attempts=100, elapsed=20)
    states = [Tries(policy)]
    for now in (0.0, 8.0, 16.0, 24.0):
        states.append(states[-1].after_failure(now, Random(1)))
    assert [tries.exhausted for tries in states] == [False, False, False, False, True]


@pytest.mark.req("M18")
def test_a_pause_that_would_end_behind_the_budget_uses_it_up() -> None:
    policy = RetryPolicy(base=1, cap=1, attempts=100, elapsed=20)
    first = Tries(policy).after_failure(0.0, Random(1))
    assert not first.after_failure(19.0, Random(1)).exhausted
    assert first.after_failure(19.5, Random(1)).exhausted


@pytest.mark.req("M18")
@given(policies(), st.integers(), st.lists(seconds, max_size=5))
def test_what_is_exhausted_stays_exhausted(policy: RetryPolicy, seed: int, later: list[float]) -> None:
    tries = fail_until_exhausted(policy, seed)[-1]
    for now in later:
        tries = tries.after_failure(now, Random(seed))
        assert tries.exhausted


@pytest.mark.req("M18")
@given(policies(), st.integers())
def test_equal_dice_give_equal_pauses(policy: RetryPolicy, seed: int) -> None:
    assert fail_until_exhausted(policy, seed) == fail_until_exhausted(policy, seed)


@pytest.mark.req("RET-05")
def test_callers_that_failed_together_do_not_come_back_together_the_first_time_either() -> None:
    first = [fail_until_exhausted(RetryPolicy(base=1, cap=1000, elapsed=1e9), seed)[0].pause for seed in range(100)]
    assert len(set(first)) == 100
    assert max(first) - min(first) > 1.5, "they are spread between the base and three times the base"


@given(st.integers())
def test_pauses_grow_by_no_more_than_three_times(seed: int) -> None:
    states = fail_until_exhausted(RetryPolicy(base=1, cap=1000, attempts=10, elapsed=1e9), seed)
    assert all(later.pause <= max(1.0, earlier.pause * 3) for earlier, later in pairwise(states))


def test_two_lanes_that_failed_together_do_not_come_back_together() -> None:
    policy = RetryPolicy(base=1, cap=1000, attempts=5, elapsed=1e9)
    assert fail_until_exhausted(policy, 1)[2].pause != fail_until_exhausted(policy, 2)[2].pause


@pytest.mark.parametrize(
    "wrong", [{"base": 0}, {"base": 2, "cap": 1}, {"attempts": 0}, {"elapsed": -1}], ids=lambda wrong: str(wrong)
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidFlowPolicy):
        RetryPolicy(**wrong)  # type: ignore[arg-type]
