"""The process dies at every durable step of delivery, and an exactly-once sink holds every row once, in order."""

from __future__ import annotations

from random import Random

import pytest
from tests.support.deliver_crashes import STEPS, Pipeline, run_through
from tests.support.deliver_faults import Dying

from holdfast.model.steps import Step
from holdfast.testing import Flakiness


def test_a_life_without_a_crash_passes_every_step() -> None:
    life = Dying()
    pipeline = Pipeline()
    assert not pipeline.live(life)
    pipeline.check()
    assert set(life.seen) == {str(step) for step in STEPS}, "the matrix below covers all there are"


@pytest.mark.req("D1", "X5", "M20")
@pytest.mark.parametrize("occurrence", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_the_first_and_second_time_of_a_step_loses_and_doubles_nothing(step: Step, occurrence: int) -> None:
    dying = Dying(step, occurrence)
    run_through(dying)
    assert dying.died


@pytest.mark.req("D1", "X5", "M20")
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_the_last_time_of_a_step_loses_and_doubles_nothing(step: Step) -> None:
    """How often a step comes varies with the writes that are shared: the last time is found by going down."""
    first = Dying()
    run_through(first)
    for occurrence in range(first.seen[str(step)], 0, -1):
        dying = Dying(step, occurrence)
        run_through(dying)
        if dying.died:
            return
    pytest.fail(f"{step} was never reached")


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize("second", STEPS)
@pytest.mark.parametrize("first", STEPS)
def test_a_crash_during_the_recovery_from_a_crash_loses_and_doubles_nothing(first: Step, second: Step) -> None:
    run_through(Dying(first, 2), Dying(second, 1))


@pytest.mark.req("D1", "X5")
def test_many_crashes_in_a_row_lose_and_double_nothing() -> None:
    run_through(*[Dying(step, 1) for step in (*STEPS, *reversed(STEPS))])


@pytest.mark.req("D1", "X5", "M20")
@pytest.mark.parametrize("seed", range(40))
def test_random_crashes_and_failing_sinks_lose_and_double_nothing(seed: int) -> None:
    random = Random(seed)
    crashes = [Dying(random.choice(STEPS), random.randint(1, 8)) for _ in range(random.randint(1, 6))]
    run_through(*crashes, flaky=Flakiness(random, rate=0.2))
