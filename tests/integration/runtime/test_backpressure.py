"""Quotas push back: a sink that takes nothing stops Spark, then capture; disk use is bounded and nothing dropped."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.engine_pipelines import Watched, finish, impatient, started, wait_until
from tests.support.local_pipelines import passed
from tests.support.weighing import Gauge

from holdfast import BatchLimits, Generator, Pipeline, Quotas, Sqlite
from holdfast.capture import Capture, CaptureState
from holdfast.log import Inbox
from holdfast.testing import LocalProcessor

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = 12_000
INBOX, OUTBOX = 400_000, 200_000
AT_ONCE = 500
"""Events of one append, and of one batch."""
ONE_APPEND, ONE_BATCH = 120_000, 50_000
ALL_OF_IT = 2_300_000
"""Bytes of all events as they are captured."""


class Blocked:
    """A pipeline whose one sink takes nothing, until capture has to wait."""

    def __init__(self, directory: Path, transactions: tuple[int, ...]) -> None:
        self.directory = directory
        self.sink = Watched(Sqlite(directory / "sink.db", table="orders"))
        self.sink.down.set()
        self.source = Generator("orders", events=EVENTS, transactions=transactions, chunk=AT_ONCE)
        self.gauge = Gauge(
            directory / "pipeline" / "inbox" / "orders" / "segments", directory / "pipeline" / "outbox" / "parts"
        )
        self.whole = (
            Pipeline("orders", directory=directory / "pipeline")
            .read(self.source)
            .write(impatient("table", self.sink))
            .batch(BatchLimits(max_events=AT_ONCE, max_wait=timedelta(0)))
            .quotas(Quotas(inbox=INBOX, outbox=OUTBOX))
        )
        self.running = started(self.whole, processor=lambda: LocalProcessor(orders, hook=self.gauge), hook=self.gauge)

    def wait_until_blocked(self) -> None:
        wait_until(self.is_blocked, "the outbox is full, the inbox is full of what was not read, and capture waits")

    def is_blocked(self) -> bool:
        outbox, inbox = self.whole.engine.ground.outbox, self.whole.engine.ground.inboxes["orders"]
        newest = outbox.newest()
        if newest is None or outbox.has_room() or inbox.retained().first_seq + AT_ONCE <= newest.ends[inbox.uuid]:
            return False
        return inbox.retained().nbytes >= INBOX and self.capture_state() is CaptureState.BLOCKED

    def capture_state(self) -> CaptureState:
        (capture,) = self.whole.status().captures
        return capture.state


@pytest.fixture(
    params=[pytest.param((3, 7), id="reads end with a transaction"), pytest.param((3, 7, 1), id="reads end inside one")]
)
def blocked(tmp_path: Path, request: pytest.FixtureRequest) -> Blocked:
    return Blocked(tmp_path, request.param)


@pytest.mark.req("X20")
def test_a_sink_that_takes_nothing_stops_capture_once_both_logs_are_full(blocked: Blocked) -> None:
    with blocked.running:
        blocked.wait_until_blocked()
        ground = blocked.whole.engine.ground
        assert ground.inboxes["orders"].retained().nbytes < INBOX + ONE_APPEND
        assert ground.outbox.retained().nbytes < OUTBOX + ONE_BATCH


@pytest.mark.req("X20")
def test_what_lies_on_disk_is_bounded_from_start_to_end(blocked: Blocked) -> None:
    with blocked.running:
        blocked.wait_until_blocked()
        blocked.sink.down.clear()
        finish(blocked.whole)
    half_read_file = INBOX + ONE_APPEND
    assert 0 < blocked.gauge.peak < half_read_file + INBOX + ONE_APPEND + OUTBOX + ONE_BATCH < ALL_OF_IT


@pytest.mark.req("X20", "D1")
def test_capture_goes_on_by_itself_and_nothing_was_dropped(blocked: Blocked) -> None:
    with blocked.running:
        blocked.wait_until_blocked()
        blocked.sink.down.clear()
        finish(blocked.whole)
    assert table_numbers(blocked.directory / "sink.db") == passed(EVENTS)


@pytest.mark.req("M16")
def test_a_pipeline_that_is_blocked_everywhere_drains_and_goes_on_at_the_next_start(blocked: Blocked) -> None:
    with blocked.running:
        blocked.wait_until_blocked()
        blocked.whole.drain(within=0.2)
        assert blocked.capture_state() is CaptureState.STOPPED
    blocked.sink.down.clear()
    with started(blocked.whole):
        finish(blocked.whole)
    assert table_numbers(blocked.directory / "sink.db") == passed(EVENTS)


@pytest.mark.req("X20")
@pytest.mark.parametrize(
    ("transactions", "max_events"),
    [
        pytest.param((800,), 100, id="a transaction larger than the quota"),
        pytest.param((10,), 5000, id="batches as large as the quota"),
    ],
)
def test_an_inbox_filled_by_what_was_read_gives_room_again(
    tmp_path: Path, transactions: tuple[int, ...], max_events: int
) -> None:
    events = 2000
    whole = (
        Pipeline("orders", directory=tmp_path / "pipeline")
        .read(Generator("orders", events=events, transactions=transactions, chunk=100))
        .write(Sqlite(tmp_path / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=max_events))
        .quotas(Quotas(inbox=100_000))
    )
    with started(whole):
        finish(whole)
    assert table_numbers(tmp_path / "sink.db") == passed(events)


def test_a_capture_that_is_stopped_while_its_last_events_wait_for_room_has_not_finished(tmp_path: Path) -> None:
    source = Generator("orders", events=1000, chunk=500)
    with Inbox.open(tmp_path, name="orders", epoch=1, quota=1) as inbox:
        capture = Capture(source, inbox, failed=lambda error: None)
        capture.start()
        wait_until(lambda: capture.status().state is CaptureState.BLOCKED, "the last events wait for room")
        assert source.finished
        capture.stop()
        assert inbox.end() == 500
        assert capture.status().state is CaptureState.STOPPED
