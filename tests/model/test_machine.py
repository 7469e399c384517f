"""Long random histories of the real ledger against the oracle that reads raw history (M1, M2)."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.explorer import step
from tests.model.machine import WIDE_OPEN, LedgerMachine
from tests.model.oracle import Before, check_state
from tests.model.world import RUNNING, World

LONG = settings(max_examples=150, stateful_step_count=80, suppress_health_check=list(HealthCheck))


@pytest.mark.req("M1", "M2", "M3")
@pytest.mark.timeout(300)
def test_random_histories_satisfy_every_invariant() -> None:
    run_state_machine_as_test(LedgerMachine, settings=LONG)


@pytest.mark.req("M8", "M9")
@pytest.mark.timeout(300)
def test_under_fair_scheduling_every_history_ends_with_everything_resolved() -> None:
    for seed in range(1000):
        world = _after_random_steps(random.Random(seed), steps=40)
        _let_everyone_finish(world)
        ledger = world.ledger
        assert ledger.phase is RUNNING
        assert all(lane.delivered >= max(world.outbox, default=0) or lane.stopped for lane in ledger.lanes.values())
        if not any(lane.stopped for lane in ledger.lanes.values()):
            assert ledger.committed >= max(world.outbox, default=0)
        ledger.drain()
        assert not ledger.stop().abandoned


def _after_random_steps(rng: random.Random, steps: int) -> World:
    world = World(WIDE_OPEN)
    for _ in range(steps):
        possible = [op for op in world.operations() if op[0] not in {"drain", "stop", "force_stop"}]
        step(world, rng.choice(possible), Before(world))
        check_state(world)
    return world


def _let_everyone_finish(world: World) -> None:
    """Sinks answer, held batches are retried in the same process; nothing new comes in and nothing goes wrong."""
    helpful = {"send", "apply", "ack", "retry", "bury", "dead_lettered", "write", "confirm"}
    bound = 20 * (len(world.outbox) + 1) * (len(world.ledger.lanes) + 1)
    for _ in range(bound):
        operation = next((op for op in world.operations() if op[0] in helpful), None)
        if operation is None:
            return
        step(world, operation, Before(world))
        check_state(world)
    pytest.fail(f"not finished after {bound} fair steps")
