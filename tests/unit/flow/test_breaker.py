"""The breaker: opens by rate, waits out its cool-down, and lets exactly one probe decide."""

from __future__ import annotations

import pytest

from holdfast.flow.breaker import SERVICE, Breaker, BreakerPolicy, BreakerState, Permit
from holdfast.model.errors import InvalidFlowPolicy

POLICY = BreakerPolicy(window=10, minimum=4, failure_rate=0.5, cool_down=30.0)


def breaker_after(answers: str, policy: BreakerPolicy = POLICY) -> Breaker:
    """A breaker that saw these answers at time 0: `+` for taken, `-` for failed."""
    breaker = Breaker(policy)
    for answer in answers:
        permit = breaker.admit(0.0)
        assert permit is Permit.CALL
        breaker.succeeded(permit, 0.0) if answer == "+" else breaker.failed(permit, 0.0)
    return breaker


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        ("", BreakerState.CLOSED),
        ("---", BreakerState.CLOSED),
        ("----", BreakerState.OPEN),
        ("+++-", BreakerState.CLOSED),
        ("++--", BreakerState.OPEN),
        ("++++++-----", BreakerState.OPEN),
        ("----------"[:3] + "++++++++++" + "----", BreakerState.CLOSED),
    ],
    ids=["new", "too few calls", "all failed", "below the rate", "at the rate", "window slides", "old ones forgotten"],
)
def test_it_opens_when_enough_of_enough_calls_failed(answers: str, state: BreakerState) -> None:
    assert breaker_after(answers).state(0.0) is state


def test_an_open_one_admits_nothing_until_its_cool_down_is_over() -> None:
    breaker = breaker_after("----")
    assert breaker.admit(29.9) is None
    assert breaker.wait(20.0) == 10.0
    assert breaker.state(30.0) is BreakerState.HALF_OPEN


@pytest.mark.req("RET-07")
def test_a_half_open_one_admits_one_probe_only() -> None:
    breaker = breaker_after("----")
    assert breaker.admit(30.0) is Permit.PROBE
    assert breaker.admit(31.0) is None


@pytest.mark.req("RET-07")
def test_a_probe_that_succeeds_closes_it_and_forgets_the_past() -> None:
    breaker = breaker_after("----")
    assert breaker.admit(30.0) is Permit.PROBE
    breaker.succeeded(Permit.PROBE, 31.0)
    breaker.failed(Permit.CALL, 31.0)
    assert breaker.state(31.0) is BreakerState.CLOSED


@pytest.mark.req("RET-07")
def test_a_probe_that_fails_opens_it_for_another_cool_down() -> None:
    breaker = breaker_after("----")
    assert breaker.admit(30.0) is Permit.PROBE
    breaker.failed(Permit.PROBE, 35.0)
    assert breaker.state(64.9) is BreakerState.OPEN
    assert breaker.admit(65.0) is Permit.PROBE


def test_a_probe_that_was_not_made_leaves_the_probe_to_somebody_else() -> None:
    breaker = breaker_after("----")
    assert breaker.admit(30.0) is Permit.PROBE
    breaker.given_back(Permit.PROBE)
    assert breaker.admit(30.0) is Permit.PROBE


@pytest.mark.req("RET-07")
@pytest.mark.parametrize("answer", ["taken", "failed"])
def test_a_late_answer_to_an_ordinary_call_does_not_decide_for_the_probe(answer: str) -> None:
    breaker = breaker_after("----")
    assert breaker.admit(30.0) is Permit.PROBE
    breaker.succeeded(Permit.CALL, 31.0) if answer == "taken" else breaker.failed(Permit.CALL, 31.0)
    assert breaker.state(31.0) is BreakerState.HALF_OPEN
    assert breaker.admit(31.0) is None


def test_it_can_be_opened_whatever_the_rate() -> None:
    breaker = breaker_after("+++++")
    breaker.trip(5.0)
    assert breaker.state(34.9) is BreakerState.OPEN


@pytest.mark.parametrize(
    "wrong",
    [{"minimum": 0}, {"minimum": 30}, {"failure_rate": 0}, {"failure_rate": 1.1}, {"cool_down": 0}, {"within": 0}],
    ids=str,
)
def test_a_policy_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidFlowPolicy):
        BreakerPolicy(**wrong)  # type: ignore[arg-type]


@pytest.mark.req("RET-06")
@pytest.mark.parametrize(
    ("failed_at", "answered_at", "state"),
    [
        ([0, 1, 2, 3], [], BreakerState.CLOSED),
        ([0, 1, 2, 3, 4], [], BreakerState.OPEN),
        ([2, 3, 4], [0, 1, 1.5], BreakerState.OPEN),
        ([2, 3], [0, 1, 1.5], BreakerState.CLOSED),
        ([0, 1, 2, 3, 33.5], [], BreakerState.CLOSED),
        ([20, 31, 32, 33, 34], [0, 0, 0, 0, 0, 0], BreakerState.OPEN),
    ],
    ids=["four calls", "five failed", "half failed", "less than half", "four are too old", "answers are too old"],
)
def test_the_breaker_of_a_service_looks_at_the_calls_of_30_seconds(
    failed_at: list[float], answered_at: list[float], state: BreakerState
) -> None:
    breaker = Breaker(SERVICE)
    calls = sorted([(at, True) for at in failed_at] + [(at, False) for at in answered_at])
    for at, failed in calls:
        breaker.failed(Permit.CALL, at) if failed else breaker.succeeded(Permit.CALL, at)
    assert breaker.state(calls[-1][0]) is state


@pytest.mark.req("RET-06")
def test_the_breaker_of_a_service_stays_open_for_30_seconds() -> None:
    breaker = breaker_after("-----", SERVICE)
    assert breaker.admit(29.99) is None
    assert breaker.admit(30.0) is Permit.PROBE
