"""How long an event waits for a fuller batch, in ticks of a clock that is moved by hand: no time passes otherwise."""

from __future__ import annotations

from collections import deque
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.support.engine_pipelines import started, wait_until

from holdfast import BatchLimits, Pipeline
from holdfast.capture import Generator
from holdfast.log import Inbox, Limits
from holdfast.log.datasource import InboxesReader, Reading
from holdfast.testing import LocalProcessor, ManualClock, RecordingSink, Script

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MAX_WAIT = 50
BUSY = 20
"""Ticks that Spark takes for a batch."""
FULL = 30
"""Events that make a batch full."""


def waits(
    directory: Path, arrivals: Sequence[int], *, busy: int = BUSY, kind: type[InboxesReader] = InboxesReader
) -> list[int]:
    """For each event, the ticks between its arrival and its admission. Spark asks at every tick while it is idle."""
    clock, source = ManualClock(), Generator("orders", events=len(arrivals), chunk=1)
    source.open(None)
    coming, found = deque(enumerate(arrivals, 1)), [-1] * len(arrivals)
    with Inbox.open(directory / "orders", name="orders", epoch=1) as inbox:
        reading = Reading({inbox.uuid: str(directory / "orders")}, Limits(FULL, 1 << 30), {}, max_wait=MAX_WAIT)
        reader = kind(reading, monotonic=clock.monotonic)
        admitted, tick, free_at = 0, 0, 0
        while admitted < len(arrivals) and tick < 100 * MAX_WAIT:
            while coming and coming[0][1] <= tick:
                coming.popleft()
                captured = source.read(0)
                assert captured is not None
                inbox.append(captured.events, position=captured.position)
            if tick >= free_at and (end := reader.latestOffset()[inbox.uuid]) > admitted:
                found[admitted:end] = [tick - arrived for arrived in arrivals[admitted:end]]
                admitted, free_at = end, tick + busy
            tick += 1
            clock.advance(1)
        reader.stop()
    return found


@pytest.mark.req("D15")
def test_an_event_that_nothing_follows_waits_as_long_as_it_may(tmp_path: Path) -> None:
    assert waits(tmp_path, [7]) == [MAX_WAIT]


@pytest.mark.req("D15")
def test_events_that_keep_coming_do_not_make_the_first_wait_longer(tmp_path: Path) -> None:
    trickle = waits(tmp_path, range(0, 200, 10), busy=0)
    assert trickle[:6] == [50, 40, 30, 20, 10, 0]
    assert max(trickle) == MAX_WAIT


@pytest.mark.req("D15")
def test_a_full_batch_does_not_wait_and_what_is_left_over_waits_one_batch_more(tmp_path: Path) -> None:
    assert waits(tmp_path, [0] * (FULL + 5)) == [0] * FULL + [BUSY + MAX_WAIT] * 5


@pytest.mark.req("D15")
def test_an_event_that_comes_while_a_batch_runs_waits_for_its_end_too(tmp_path: Path) -> None:
    assert waits(tmp_path, [0, MAX_WAIT + 1]) == [MAX_WAIT, BUSY - 1 + MAX_WAIT]


@pytest.mark.req("D15")
@pytest.mark.parametrize("seed", range(5))
def test_no_event_waits_longer_than_it_may_and_one_batch(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    arrivals = sorted(random.randrange(400) for _ in range(60))
    assert max(waits(tmp_path, arrivals)) <= MAX_WAIT + BUSY


class Restarting(InboxesReader):
    """A planted bug: every event that comes starts the time anew."""

    _seen = 0

    def _is_due(self) -> bool:
        (inbox,) = self._inboxes().values()
        if inbox.end() > self._seen:
            self._seen, self._waiting_since = inbox.end(), None
        return super()._is_due()


class Endless(InboxesReader):
    """A planted bug: a batch is due only when it is full."""

    def _is_due(self) -> bool:
        (inbox,) = self._inboxes().values()
        return inbox.end() - self._at.get(inbox.uuid, 0) >= self.reading.limits.rows


def test_a_wait_that_every_event_starts_anew_is_noticed(tmp_path: Path) -> None:
    assert max(waits(tmp_path, range(0, 200, 10), busy=0, kind=Restarting)) > MAX_WAIT


def test_a_batch_that_waits_until_it_is_full_is_noticed(tmp_path: Path) -> None:
    assert waits(tmp_path, [7], kind=Endless) == [-1]


class Asked(ManualClock):
    """Counts how often the time was asked for."""

    asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        return super().monotonic()

    def wait_for_questions(self) -> None:
        before = self.asked
        wait_until(lambda: self.asked > before + 1, "the time was asked for, and asked for again")


@pytest.mark.req("D15")
def test_a_whole_pipeline_delivers_the_only_event_when_its_time_is_up(tmp_path: Path) -> None:
    clock, sink = Asked(), RecordingSink()
    whole = (
        Pipeline("orders", directory=tmp_path)
        .read(Script([{"n": 1}]))
        .write(sink)
        .batch(BatchLimits(max_wait=timedelta(seconds=MAX_WAIT)))
    )
    with started(whole, processor=lambda: LocalProcessor(monotonic=clock.monotonic)):
        clock.wait_for_questions()
        clock.advance(MAX_WAIT - 1)
        clock.wait_for_questions()
        assert whole.engine.ground.outbox.newest() is None
        clock.advance(1)
        wait_until(lambda: len(sink.vault.rows) == 1, "the event is delivered")
