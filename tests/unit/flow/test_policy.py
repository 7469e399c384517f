"""What is declared of an edge: a bound, a policy with its reason, and a buffer that fits its burst."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.flow import (
    FROM_SOURCE,
    TO_DEADLINE,
    TO_EXPORT,
    TO_STATE,
    Backpressure,
    BurstProfile,
    ByPriority,
    Credits,
    EdgePlan,
    FlowPolicy,
    Priority,
    Shed,
    Timed,
)
from holdfast.model.errors import InvalidFlowPolicy


def always_high(item: object) -> Priority:
    return Priority.HIGH


@pytest.mark.req("FLW-05")
@pytest.mark.parametrize(
    ("profile", "items"),
    [
        (BurstProfile(5000, 60, 4500, 2.0), 60_000),
        (BurstProfile(5000, 60, 4500), 60_000),
        (BurstProfile(100, 60, 4500), 0),
        (BurstProfile(10, 1, 9.5, 1.0), 1),
    ],
    ids=["radar", "the safety factor is 2", "processing keeps up", "a part of an item needs a place"],
)
def test_the_recommended_buffer_is_what_piles_up_in_the_burst(profile: BurstProfile, items: int) -> None:
    assert profile.recommended_buffer == items


@pytest.mark.req("FLW-05")
@given(st.integers(0, 10_000), st.integers(0, 90), st.integers(0, 10_000), st.sampled_from([0.5, 1.0, 2.0, 3.25]))
def test_the_recommended_buffer_holds_what_piles_up_second_by_second_and_no_item_more(
    peak: int, seconds: int, rate: int, safety: float
) -> None:
    piled_up = 0
    for _ in range(seconds):
        piled_up = max(0, piled_up + peak - rate)
    assert piled_up * safety <= BurstProfile(peak, seconds, rate, safety).recommended_buffer < piled_up * safety + 1


def test_an_edge_for_a_burst_holds_it_and_is_never_smaller_than_usual() -> None:
    policy = Backpressure("a test")
    assert EdgePlan.for_burst(BurstProfile(5000, 60, 4500), policy).capacity == 60_000
    assert EdgePlan.for_burst(BurstProfile(1, 60, 4500), policy).capacity == 1024


@pytest.mark.req("FLW-01")
def test_the_edges_by_default_are_those_of_the_requirements() -> None:
    assert [(plan.capacity, type(plan.policy)) for plan in (FROM_SOURCE, TO_STATE, TO_DEADLINE, TO_EXPORT)] == [
        (1024, Backpressure),
        (4096, Backpressure),
        (256, Timed),
        (1024, Shed),
    ]
    assert isinstance(TO_DEADLINE.policy, Timed)
    assert TO_DEADLINE.policy.deadline == 0.2


@pytest.mark.req("FLW-01")
@pytest.mark.parametrize(
    "policy",
    [Backpressure, Shed, Credits, lambda reason: Timed(1.0, reason), lambda reason: ByPriority(always_high, reason)],
    ids=["backpressure", "shed", "credits", "timed", "priority"],
)
def test_a_policy_without_a_reason_is_refused(policy: Callable[[str], FlowPolicy]) -> None:
    assert policy("it is a test").reason
    with pytest.raises(InvalidFlowPolicy, match="it says why it was chosen"):
        policy("  ")


@pytest.mark.req("ORC-05")
@pytest.mark.parametrize("capacity", [0, -1])
def test_an_edge_without_a_bound_cannot_be_declared(capacity: int) -> None:
    with pytest.raises(InvalidFlowPolicy, match="capacity is 1 or more"):
        EdgePlan(capacity, Backpressure("a test"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Timed(0, "a test"),
        lambda: BurstProfile(-1, 1, 1),
        lambda: BurstProfile(1, 1, 1, safety=0),
        lambda: ByPriority(always_high, "a test", low_share=1.0),
        lambda: ByPriority(always_high, "a test", high_water=0),
        lambda: EdgePlan(1, ByPriority(always_high, "a test")),
    ],
    ids=["no deadline", "negative rate", "no safety", "all is low", "no high-water mark", "no room for two"],
)
def test_numbers_that_make_no_sense_are_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidFlowPolicy):
        wrong()
