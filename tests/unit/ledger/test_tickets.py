"""Tickets as types: what can be done once, and what is noticed when it is not done at all."""

from __future__ import annotations

import pytest

from holdfast.ledger.decisions import DeadLetter, Retry, Vanished
from holdfast.ledger.lane import LaneSpec
from holdfast.ledger.ledger import Ledger
from holdfast.ledger.tickets import Queued, Sending
from holdfast.model.errors import TicketUsed, UnknownBatch, UnknownLane


def ledger_with(batches: int, *, max_inflight: int = 8) -> Ledger:
    ledger = Ledger(sources=[], lanes=[LaneSpec("a", max_inflight=max_inflight)])
    for oseq in range(1, batches + 1):
        ledger.create(oseq, {})
    return ledger


def send(ledger: Ledger) -> Sending:
    ticket = ledger.next("a")
    assert ticket is not None
    return ticket.send()


def test_a_queued_ticket_cannot_be_answered() -> None:
    assert not hasattr(Queued, "ack")
    assert not hasattr(Sending, "send")


@pytest.mark.req("K12")
def test_a_dropped_queued_ticket_is_handed_out_again() -> None:
    ledger = ledger_with(1)
    first = ledger.next("a")
    assert first is not None
    oseq = first.oseq
    del first
    again = ledger.next("a")
    assert again is not None
    assert again.oseq == oseq
    assert ledger.decisions()[-1:] != (Vanished("a", 1, 1),)


@pytest.mark.req("K12", "M9")
def test_a_dropped_sending_ticket_is_reported_and_its_batch_retried_in_process() -> None:
    ledger = ledger_with(2)
    sending = send(ledger)
    del sending
    assert Vanished("a", 1, 1) in ledger.decisions()
    assert ledger.next("a") is None, "the lane is frozen until someone looks at it"
    ledger.retry("a", 1).send().ack()
    assert ledger.lanes["a"].delivered == 1


@pytest.mark.req("K12")
def test_an_answered_ticket_is_not_reported_when_it_goes() -> None:
    ledger = ledger_with(3)
    send(ledger).ack()
    send(ledger).fail()
    send(ledger).hold()
    assert not [decision for decision in ledger.decisions() if isinstance(decision, Vanished)]


@pytest.mark.req("M10")
@pytest.mark.parametrize("answer", ["ack", "fail", "hold", "reject"])
def test_a_used_ticket_raises(answer: str) -> None:
    ledger = ledger_with(1)
    sending = send(ledger)
    getattr(sending, answer)()
    for again in ("ack", "fail", "hold", "reject"):
        with pytest.raises(TicketUsed) as refusal:
            getattr(sending, again)()
        assert refusal.value.code == "HF-204"


def test_a_queued_ticket_sends_once() -> None:
    ledger = ledger_with(1)
    ticket = ledger.next("a")
    assert ticket is not None
    kept = ticket.send()
    with pytest.raises(TicketUsed):
        ticket.send()
    kept.ack()


def test_an_answer_for_a_batch_never_handed_out_is_refused() -> None:
    ledger = ledger_with(1)
    with pytest.raises(UnknownBatch) as refusal:
        Sending(ledger, ledger.lanes["a"], 7, 1).ack()
    assert refusal.value.code == "HF-203"
    with pytest.raises(UnknownBatch):
        ledger.retry("a", 7)
    with pytest.raises(UnknownLane):
        ledger.next("nowhere")


def test_a_ticket_of_before_a_rollback_is_void() -> None:
    ledger = ledger_with(1)
    sending = send(ledger)
    sending.ack()
    ledger.roll_back_lane("a", 0)
    again = send(ledger)
    with pytest.raises(TicketUsed):
        sending.ack()
    again.ack()


def test_a_queued_ticket_of_before_a_rollback_or_a_removal_sends_nothing() -> None:
    ledger = ledger_with(2)
    send(ledger).ack()
    queued = ledger.next("a")
    assert queued is not None
    ledger.roll_back(1, {})
    with pytest.raises((TicketUsed, UnknownBatch)):
        queued.send()
    ledger.add_lane(LaneSpec("b"))
    ledger.create(3, {})
    kept = ledger.next("b")
    assert kept is not None
    ledger.remove_lane("b")
    with pytest.raises((TicketUsed, UnknownBatch)):
        kept.send()


def test_a_retried_batch_is_no_longer_asked_into_the_dead_letters() -> None:
    ledger = ledger_with(1)
    send(ledger).reject()
    ledger.retry("a", 1).send().ack()
    assert not [decision for decision in ledger.decisions() if isinstance(decision, DeadLetter)]


def test_failing_asks_for_a_retry_and_rejecting_for_a_dead_letter() -> None:
    ledger = ledger_with(2)
    queued = send(ledger).fail()
    assert queued.attempt == 2
    rejecting = send(ledger).reject()
    assert [d for d in ledger.decisions() if isinstance(d, Retry | DeadLetter)] == [
        Retry("a", 1, 2),
        DeadLetter("a", 2),
    ]
    rejecting.dead_lettered()
    assert ledger.lanes["a"].delivered == 0, "batch 1 is not resolved yet"
    queued.send().ack()
    assert ledger.lanes["a"].delivered == 2


def test_dead_letters_that_cannot_be_written_let_the_batch_be_sent_again() -> None:
    ledger = ledger_with(1)
    send(ledger).reject()
    ledger.retry("a", 1).send().ack()
    assert ledger.lanes["a"].delivered == 1


@pytest.mark.req("X20", "M14")
def test_a_frozen_lane_takes_on_no_more_than_it_may() -> None:
    ledger = ledger_with(100, max_inflight=4)
    held = [send(ledger) for _ in range(4)]
    assert ledger.next("a") is None
    held[3].ack()
    held[0].hold()
    assert ledger.next("a") is None, "while a batch is held, nothing new is sent"
    assert ledger.lanes["a"].unresolved == 3
