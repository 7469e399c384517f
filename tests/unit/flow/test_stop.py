"""The signal to end cuts a wait short, and takes no other cancelling for its own."""

from __future__ import annotations

import asyncio

import pytest
from tests.support.virtual_time import run_virtually

from holdfast.flow import Stop


async def waiting(stop: Stop, reached: list[str]) -> None:
    async with stop.interrupts():
        await asyncio.sleep(100)
        reached.append("end of the block")
    reached.append("behind the block")


@pytest.mark.parametrize("set_before", [True, False])
def test_the_block_is_left_and_what_is_behind_it_goes_on(set_before: bool) -> None:
    async def scenario() -> tuple[list[str], float]:
        stop, reached = Stop(), list[str]()
        if set_before:
            stop.set()
        asyncio.get_running_loop().call_later(2, stop.set)
        await waiting(stop, reached)
        await asyncio.sleep(1)
        return reached, asyncio.get_running_loop().time()

    assert run_virtually(scenario()) == (["behind the block"], 1 if set_before else 3)


def test_a_block_that_ends_in_time_is_left_alone() -> None:
    async def scenario() -> tuple[list[str], float]:
        stop, reached = Stop(), list[str]()
        await waiting(stop, reached)
        stop.set()
        await asyncio.sleep(1)
        return reached, asyncio.get_running_loop().time()

    assert run_virtually(scenario()) == (["end of the block", "behind the block"], 101)


@pytest.mark.parametrize("both", [True, False], ids=["and the signal", "alone"])
def test_being_cancelled_by_somebody_else_is_not_swallowed(both: bool) -> None:
    async def scenario() -> list[str]:
        stop, reached = Stop(), list[str]()
        task = asyncio.create_task(waiting(stop, reached))
        await asyncio.sleep(1)
        if both:
            stop.set()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled()
        return reached

    assert run_virtually(scenario()) == []


def test_an_error_in_the_block_is_an_error() -> None:
    async def failing(stop: Stop) -> None:
        async with stop.interrupts():
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_virtually(failing(Stop()))
