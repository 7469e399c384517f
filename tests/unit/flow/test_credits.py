"""Credits: a sender stops without them, they come back after processing, may be withheld, and go round in turn."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Coroutine, Sequence
from typing import TypeVar

import pytest
from tests.support.virtual_time import run_virtually

from holdfast.flow import CreditEdge, Credits, Loan, Outlet

R = TypeVar("R")
POLICY = Credits("a test")


def run(scenario: Coroutine[None, None, R]) -> R:
    return run_virtually(scenario)


def edge(granted: int = 4) -> CreditEdge[int]:
    return CreditEdge("e", granted, POLICY)


async def borrowed(edge: CreditEdge[int]) -> Loan[int]:
    loan = await edge.lend()
    assert loan is not None
    return loan


async def endless(outlet: Outlet[int], number: int, size: int = 1) -> None:
    while True:
        await outlet.send([number] * size)


@pytest.mark.req("FLW-13")
def test_a_sender_stops_without_credits_and_goes_on_when_one_returns() -> None:
    async def scenario() -> None:
        credited = edge()
        sending = asyncio.create_task(endless(credited, 1))
        await asyncio.sleep(1)
        assert (credited.credits, credited.stats().accepted) == (0, 4)
        with await borrowed(credited):
            await asyncio.sleep(1)
            assert credited.stats().accepted == 4, "receiving returns no credit, processing does"
        await asyncio.sleep(1)
        assert credited.stats().accepted == 5
        sending.cancel()
        await asyncio.wait({sending})

    run(scenario())


@pytest.mark.req("FLW-13")
def test_never_more_is_under_way_than_was_granted() -> None:
    async def scenario() -> tuple[int, int]:
        credited, most, handled = edge(10), 0, 0

        async def worker() -> None:
            nonlocal most, handled
            while (loan := await credited.lend()) is not None:
                with loan as batch:
                    most = max(most, credited.stats().occupancy)
                    await asyncio.sleep(0.1 * len(batch))
                    handled += len(batch)

        workers = [asyncio.create_task(worker()) for _ in range(4)]
        for size in [1, 5, 3, 10, 2, 2, 7] * 10:
            await credited.send(range(size))
        credited.close()
        await asyncio.gather(*workers)
        assert credited.credits == 10
        return most, handled

    assert run(scenario()) == (10, 300)


@pytest.mark.req("FLW-13")
def test_a_loan_that_is_forgotten_is_logged_and_counted_and_its_credit_stays_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        credited = edge()
        await credited.send([1, 2])
        forgotten: Loan[int] | None = await borrowed(credited)
        del forgotten
        gc.collect()
        assert (credited.lost, credited.credits) == (2, 2)

    with caplog.at_level(logging.ERROR, "holdfast.flow"):
        run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        '{"event": "credits lost", "edge": "e", "items": 2, "lost": 2}'
    ]


async def process(edge: CreditEdge[int], seen: list[int], *, failing_at: int | None = None) -> None:
    while (loan := await edge.lend()) is not None:
        with loan as batch:
            await asyncio.sleep(1)
            if failing_at in batch:
                raise OSError
            seen += batch


@pytest.mark.req("FLW-13")
@pytest.mark.parametrize("cancelled", [True, False])
def test_a_loan_that_is_broken_off_is_the_next_to_be_lent(cancelled: bool) -> None:
    async def scenario() -> list[int]:
        credited, seen = edge(10), list[int]()
        for batch in ([1, 2], [3, 4], [5, 6]):
            await credited.send(batch)
        credited.close()
        task = asyncio.create_task(process(credited, seen, failing_at=None if cancelled else 3))
        await asyncio.sleep(1.5)
        if cancelled:
            task.cancel()
        await asyncio.wait({task})
        assert (seen, credited.credits, credited.lost) == ([1, 2], 6, 0)
        await process(credited, seen)
        assert credited.credits == 10
        return seen

    assert run(scenario()) == [1, 2, 3, 4, 5, 6]


@pytest.mark.req("FLW-13")
def test_a_loan_that_is_settled_twice_returns_its_credits_once() -> None:
    async def scenario() -> None:
        credited = edge()
        await credited.send([1, 2])
        loan = await borrowed(credited)
        loan.settle()
        loan.settle()
        assert (credited.credits, credited.lost) == (4, 0)

    run(scenario())


@pytest.mark.req("FLW-14")
def test_withheld_credits_pause_the_senders_until_they_are_released() -> None:
    async def scenario() -> None:
        credited = edge()
        sending = asyncio.create_task(endless(credited, 1))
        await asyncio.sleep(1)
        credited.withhold()
        for _ in range(4):
            await credited.take()
            credited.handled()
        await asyncio.sleep(1)
        assert (credited.credits, credited.stats().occupancy) == (0, 0), "the flush sees an edge that stays empty"
        credited.release()
        await asyncio.sleep(1)
        assert credited.stats().occupancy == 4
        sending.cancel()
        await asyncio.wait({sending})

    run(scenario())


@pytest.mark.req("FLW-14")
def test_credits_that_are_out_may_be_spent_while_others_are_withheld() -> None:
    async def scenario() -> None:
        credited = edge()
        credited.withhold()
        await credited.send([1, 2, 3, 4])
        assert credited.credits == 0

    run(scenario())


@pytest.mark.req("FLW-14")
def test_sources_that_wait_get_credits_in_turn() -> None:
    async def scenario() -> list[int]:
        credited = edge(4)
        feeds = [(1, 10), (2, 2), (3, 1)]
        senders = [
            asyncio.create_task(endless(credited.sender(f"source {number}"), number))
            for number, tasks in feeds
            for _ in range(tasks)
        ]
        received: list[Sequence[int]] = []
        async for batch in credited:
            received.append(batch)
            await asyncio.sleep(0)
            if len(received) == 64:
                break
        for sender in senders:
            sender.cancel()
        await asyncio.wait(senders)
        return [number for batch in received[4:] for number in batch]

    received = run(scenario())
    assert [received.count(number) for number in (1, 2, 3)] == [20, 20, 20]
