"""A sink belongs to the newest owner: an older one is refused whenever it wakes up, and nothing of its lands later."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from holdfast.model.errors import DeliveryError, SinkFenced, Transient
from holdfast.model.steps import Step
from tests.support.sink_lanes import Lanes, batch_of, empty_batch, seqs_of

if TYPE_CHECKING:
    from concurrent.futures import Future

    from holdfast.deliver.contract import Sink

pytestmark = pytest.mark.req("D3", "X11")


def test_an_older_owner_cannot_open_what_a_newer_one_has(owned: Lanes) -> None:
    owned.open(epoch=5)
    with pytest.raises(SinkFenced, match="belongs to epoch 5, and we are epoch 4"):
        owned.open(epoch=4)


def test_the_same_owner_may_open_again(owned: Lanes) -> None:
    owned.open(epoch=5).deliver(batch_of(1))
    assert owned.open(epoch=5).cursor() == 1


def test_an_owner_that_is_open_when_a_newer_one_opens_is_refused_from_then_on(owned: Lanes) -> None:
    old = owned.open(epoch=1)
    old.deliver(batch_of(1))
    new = owned.open(epoch=2)
    for batch in (batch_of(1), batch_of(2), empty_batch(2)):
        with pytest.raises(SinkFenced):
            old.deliver(batch)
        with pytest.raises(SinkFenced):
            old.probe(batch)
    assert (owned.seqs(), new.cursor()) == (seqs_of(1), 1)


def test_an_owner_that_is_fenced_just_before_it_writes_is_refused(owned: Lanes) -> None:
    def take_over(reached: str) -> None:
        if reached == Step.SINK_WRITE:
            newer.append(owned.open(epoch=2))

    newer: list[Sink] = []
    old = owned.open(epoch=1, hook=take_over)
    with pytest.raises(SinkFenced):
        old.deliver(batch_of(1))
    assert (owned.place.is_untouched(), newer[0].cursor()) == (True, 0)


def test_a_takeover_in_the_middle_of_a_transaction_never_misses_rows_that_land(owned: Lanes) -> None:
    """Either the old owner is refused, or the new one waits for its commit and sees it in the cursor."""

    def take_over(reached: str) -> None:
        if reached == Step.SINK_COMMIT and not taking:
            taking.append(pool.submit(owned.open, epoch=2))
            with pytest.raises(TimeoutError):
                taking[0].result(timeout=0.3)

    taking: list[Future[Sink]] = []
    with ThreadPoolExecutor(1) as pool:
        old = owned.open(epoch=1, hook=take_over)
        old.deliver(batch_of(1))
        new = taking[0].result(timeout=30)
    assert (owned.seqs(), new.cursor()) == (seqs_of(1), 1)
    with pytest.raises(SinkFenced):
        old.deliver(batch_of(2))


def test_an_owner_with_another_outbox_fences_the_old_one_too(owned: Lanes) -> None:
    old = owned.open(epoch=1)
    owned.open(epoch=2, outbox="0d9b6f0e-0000-4000-8000-000000000000")
    with pytest.raises(SinkFenced):
        old.deliver(batch_of(1))
    assert owned.place.is_untouched()


def test_a_newer_owner_of_one_lane_leaves_the_other_lanes_alone(owned: Lanes) -> None:
    old = owned.open(epoch=1, lane="archive")
    owned.open(epoch=2, lane="report")
    old.deliver(batch_of(1))
    assert owned.seqs() == seqs_of(1)


def test_of_many_owners_that_open_at_once_only_the_newest_can_write(owned: Lanes) -> None:
    def contend(epoch: int) -> Sink | None:
        """Open as a lane does, which tries again when the sink is busy: SQLite does not wait to change its mode."""
        for _ in range(100):
            try:
                return owned.open(epoch=epoch)
            except SinkFenced:
                return None
            except Transient:
                continue
        return None

    with ThreadPoolExecutor(6) as pool:
        sinks = list(pool.map(contend, range(1, 7)))
    for sink in sinks[:-1]:
        if sink is not None:
            with pytest.raises(SinkFenced):
                sink.deliver(batch_of(1))
    assert sinks[-1] is not None
    sinks[-1].deliver(batch_of(1))
    assert owned.seqs() == seqs_of(1)


def test_a_batch_sent_twice_at_once_by_one_owner_lands_once(owned: Lanes) -> None:
    """As when a commit in doubt is still running on the server while the lane already sends the batch again."""

    def send_again(reached: str) -> None:
        if reached == Step.SINK_COMMIT and not sending:
            sending.append(pool.submit(outcome))
            with pytest.raises(TimeoutError):
                sending[0].result(timeout=0.3)

    def outcome() -> DeliveryError | None:
        try:
            second.deliver(batch_of(1))
        except DeliveryError as error:
            return error
        return None

    sending: list[Future[DeliveryError | None]] = []
    second = owned.open(epoch=1)
    with ThreadPoolExecutor(1) as pool:
        owned.open(epoch=1, hook=send_again).deliver(batch_of(1))
        answer = sending[0].result(timeout=30)
    assert answer is None or isinstance(answer, Transient)
    second.deliver(batch_of(1))
    assert (owned.seqs(), second.cursor()) == (seqs_of(1), 1)
