"""The gate of a sink: deliveries together, everything else alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from holdfast.deliver.gate import Gate

LIMIT = 10.0


def test_two_deliveries_are_inside_at_once() -> None:
    gate, both = Gate(), threading.Barrier(2)

    def deliver() -> None:
        with gate.shared():
            both.wait(LIMIT)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(deliver), pool.submit(deliver)]:
            done.result(LIMIT)


def test_who_wants_to_be_alone_waits_for_deliveries_and_goes_before_later_ones() -> None:
    gate, inside, leave = Gate(), threading.Event(), threading.Event()
    order: list[str] = []

    def deliver_first() -> None:
        with gate.shared():
            inside.set()
            leave.wait(LIMIT)
            order.append("first")

    def read_cursor() -> None:
        with gate.alone():
            order.append("alone")

    def deliver_later() -> None:
        with gate.shared():
            order.append("later")

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(deliver_first)
        assert inside.wait(LIMIT)
        alone = pool.submit(read_cursor)
        while not gate._waiting_to_be_alone:
            pass
        later = pool.submit(deliver_later)
        leave.set()
        for done in (first, alone, later):
            done.result(LIMIT)
    assert order == ["first", "alone", "later"]


def test_an_error_inside_opens_the_gate_again() -> None:
    gate = Gate()
    for way in (gate.shared, gate.alone):
        try:
            with way():
                raise ValueError
        except ValueError:
            pass
    with gate.alone():
        pass
