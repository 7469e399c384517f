"""How fast the ledger decides: whole create-send-ack cycles, and what one answer costs as more are in flight."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import median

from holdfast.ledger.lane import LaneSpec
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tickets import Sending
from holdfast.model.positions import Seq

CYCLES = 200_000
ROUNDS = 5


def run() -> Iterator[dict[str, object]]:
    rate = max(cycles_a_second(in_flight=1_000) for _ in range(ROUNDS))
    yield {"bench": "ledger", "figure": "cycles_1000_in_flight", "value": round(rate), "unit": "cycles/s"}
    for in_flight in (10, 100, 1_000, 10_000, 100_000):
        cost = median(cost_of_an_answer(in_flight) for _ in range(ROUNDS))
        yield {"bench": "ledger", "figure": f"answer_{in_flight}_in_flight", "value": round(cost, 2), "unit": "µs"}


def cycles_a_second(in_flight: int) -> float:
    """Answers in random order; each answer is followed by a new batch created and sent."""
    ledger, tickets = _loaded(in_flight)
    order = [random.Random(1).randrange(in_flight) for _ in range(CYCLES)]
    ends = [{"s": Seq(in_flight + n)} for n in range(1, CYCLES + 1)]
    started = time.perf_counter()
    for oseq, (slot, end) in enumerate(zip(order, ends, strict=True), start=in_flight + 1):
        tickets[slot].ack()
        ledger.create(oseq, end)
        tickets[slot] = _send(ledger)
    return CYCLES / (time.perf_counter() - started)


def cost_of_an_answer(in_flight: int) -> float:
    """Microseconds an answer takes, over all answers to a full window in random order."""
    _, tickets = _loaded(in_flight)
    random.Random(2).shuffle(tickets)
    started = time.perf_counter()
    for ticket in tickets:
        ticket.ack()
    return (time.perf_counter() - started) / in_flight * 1e6


def _loaded(in_flight: int) -> tuple[Ledger, list[Sending]]:
    ledger = Ledger(sources=["s"], lanes=[LaneSpec("a", max_inflight=in_flight)])
    for oseq in range(1, in_flight + 1):
        ledger.create(oseq, {"s": Seq(oseq)})
    return ledger, [_send(ledger) for _ in range(in_flight)]


def _send(ledger: Ledger) -> Sending:
    ticket = ledger.next("a")
    assert ticket is not None
    return ticket.send()


if __name__ == "__main__":
    for figure in run():
        print(figure)
