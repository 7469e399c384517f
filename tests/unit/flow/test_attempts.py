"""Calling again: what is worth it, how often, how long between, and when the breaker forbids the call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from tests.support.virtual_time import LoopTimer, run_virtually

from holdfast.flow import (
    SERVICE,
    Breaker,
    BreakerState,
    Discardable,
    Permanent,
    Retrying,
    RetryPolicy,
    Transient,
    Verdict,
    by_type,
)
from holdfast.model.errors import PermanentFailure, RetriesExhausted

PATIENT = RetryPolicy(base=1.0, cap=10.0, attempts=5, elapsed=1e6)
LOST = ConnectionError("lost")


class Service:
    """Answers a call with the next of its answers; the last one for ever. Notes when it was called."""

    def __init__(self, *answers: Exception | str) -> None:
        self._answers = list(answers)
        self.called_at: list[float] = []

    async def __call__(self) -> str:
        self.called_at.append(asyncio.get_running_loop().time())
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def retrying(
    policy: RetryPolicy = PATIENT,
    classify: Callable[[Exception], Verdict] | None = None,
    breaker: Breaker | None = None,
    seed: int = 1,
) -> Retrying:
    known = by_type(transient=(OSError,), discardable=(UnicodeError,))
    return Retrying("optical", policy, classify or known, timer=LoopTimer(), random=Random(seed), breaker=breaker)


def call(retrying: Retrying, service: Callable[[], Awaitable[str]]) -> str | None:
    return run_virtually(retrying.call(service))


@pytest.mark.req("RET-01")
def test_what_passes_by_itself_is_called_again_until_it_answers() -> None:
    service, calls = Service(LOST, LOST, "rows"), retrying()
    assert call(calls, service) == "rows"
    assert (len(service.called_at), calls.retries) == (3, 2)


@pytest.mark.req("RET-01")
@pytest.mark.parametrize("error", [ValueError("no JSON"), KeyError("renamed")], ids=["permanent", "unknown"])
def test_what_does_not_pass_is_called_once(error: Exception) -> None:
    service = Service(error)
    with pytest.raises(PermanentFailure, match="at attempt 1") as raised:
        call(retrying(), service)
    assert raised.value.__cause__ is error
    assert len(service.called_at) == 1


@pytest.mark.req("RET-01")
def test_what_is_worth_nothing_gives_nothing_and_is_counted() -> None:
    service, calls = Service(LOST, UnicodeError("malformed id")), retrying()
    assert call(calls, service) is None
    assert (len(service.called_at), calls.discards) == (2, 1)


@pytest.mark.req("RET-03")
def test_the_pauses_are_those_that_the_dice_give() -> None:
    service = Service(LOST)
    with pytest.raises(RetriesExhausted):
        call(retrying(seed=7), service)
    dice, pause, at, expected = Random(7), 1.0, 0.0, [0.0]
    for _ in range(4):
        pause = min(10.0, dice.uniform(1.0, max(1.0, 3 * pause)))
        at += pause
        expected.append(at)
    assert service.called_at == pytest.approx(expected)


@pytest.mark.req("RET-04")
@pytest.mark.parametrize("attempts", [1, 3])
def test_it_gives_up_after_its_attempts_and_names_their_number(attempts: int) -> None:
    service = Service(LOST)
    with pytest.raises(RetriesExhausted, match=f"after attempt {attempts}: ConnectionError: lost") as raised:
        call(retrying(RetryPolicy(attempts=attempts)), service)
    assert len(service.called_at) == raised.value.context["attempts"] == attempts


@pytest.mark.req("RET-05")
def test_a_hundred_clients_that_failed_together_come_back_at_different_times() -> None:
    services = [Service(LOST, LOST, "rows") for _ in range(100)]

    async def all_at_once() -> None:
        clients = (retrying(seed=seed).call(service) for seed, service in enumerate(services))
        await asyncio.gather(*clients)

    run_virtually(all_at_once())
    for retry in (1, 2):
        times = sorted(service.called_at[retry] for service in services)
        busiest = max(sum(start <= at < start + 0.1 for at in times) for start in times)
        assert len(set(times)) == 100
        assert busiest <= 15, f"retry {retry} comes as a herd"


def test_a_pause_that_was_asked_for_is_kept() -> None:
    service = Service(LOST, "rows")
    call(retrying(classify=lambda error: Transient(after=25.0)), service)
    assert service.called_at == [0.0, 25.0]


@pytest.mark.req("RET-08")
def test_while_the_breaker_is_open_nobody_is_called() -> None:
    breaker, service = Breaker(SERVICE), Service("rows")
    breaker.trip(0.0)
    calls = retrying(RetryPolicy(base=8.0, cap=8.0, attempts=9, elapsed=1e6), breaker=breaker)
    assert call(calls, service) == "rows"
    assert service.called_at == [32.0], "four attempts fell into the cool-down of 30 s, the fifth was the probe"
    assert calls.retries == 4


@pytest.mark.req("RET-08")
def test_calls_that_fail_open_the_breaker() -> None:
    breaker, service = Breaker(SERVICE), Service(LOST)
    calls = retrying(RetryPolicy(base=1.0, cap=1.0, attempts=9, elapsed=1e6), breaker=breaker)
    with pytest.raises(RetriesExhausted, match="the breaker is open"):
        call(calls, service)
    assert len(service.called_at) == 5, "after five failures in a row nobody is called"


def test_an_answer_that_refuses_is_no_failure_of_the_service() -> None:
    breaker = Breaker(SERVICE)
    calls = retrying(breaker=breaker)
    for _ in range(10):
        with pytest.raises(PermanentFailure):
            call(calls, Service(ValueError("no JSON")))
    assert breaker.state(0.0) is BreakerState.CLOSED


def test_a_probe_that_is_cancelled_leaves_the_probe_to_somebody_else() -> None:
    breaker, calls = Breaker(SERVICE), Service("rows")
    breaker.trip(-30.0)

    async def cancelled_in_the_probe() -> str | None:
        never = asyncio.create_task(retrying(breaker=breaker).call(asyncio.Event().wait))
        await asyncio.sleep(1)
        never.cancel()
        await asyncio.wait({never})
        return await retrying(breaker=breaker).call(calls)

    assert run_virtually(cancelled_in_the_probe()) == "rows"


@pytest.mark.req("RET-09")
def test_an_outage_of_30_seconds_is_survived_without_giving_up() -> None:
    started = 0.0
    breaker = Breaker(SERVICE)

    async def archive() -> str:
        if asyncio.get_running_loop().time() < started + 30.0:
            raise LOST
        return "rows"

    calls = retrying(RetryPolicy(base=0.1, cap=5.0, attempts=100, elapsed=300.0), breaker=breaker)
    assert call(calls, archive) == "rows"
    assert calls.retries < 60, "the archive is not hammered"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [(TimeoutError(), Transient()), (UnicodeError(), Discardable()), (ArithmeticError(), Permanent())],
    ids=["in the list", "in the other", "in none"],
)
def test_a_classifier_by_type_goes_by_its_lists(error: Exception, verdict: Verdict) -> None:
    assert by_type(transient=(OSError,), discardable=(UnicodeError,))(error) == verdict


@pytest.mark.req("CTL-02")
@pytest.mark.parametrize(("passed", "state"), [(None, 0), (1.0, 1), (31.0, 2)], ids=["closed", "open", "half-open"])
def test_the_figures_tell_retries_discards_and_the_state_of_the_breaker(passed: float | None, state: int) -> None:
    async def scenario() -> dict[str, float]:
        breaker = Breaker(SERVICE)
        calls = retrying(breaker=breaker)
        await calls.call(Service(LOST, UnicodeError("malformed")))
        if passed is not None:
            breaker.trip(asyncio.get_running_loop().time())
            await asyncio.sleep(passed)
        assert all("optical" in figure.labels.values() for figure in calls.metrics())
        return {figure.name: figure.value for figure in calls.metrics()}

    figures = run_virtually(scenario())
    assert figures == {"retry_attempts_total": 1, "operator_discards_total": 1, "circuit_breaker_state": state}
