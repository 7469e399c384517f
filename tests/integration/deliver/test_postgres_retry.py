"""A batch fails in PostgreSQL while the next ones are ready, and the process is killed at every step of that way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.model.steps import Step
from tests.support.crash.postgres_lane import BATCHES, FAILURES, REFUSED, Found, Lane, rows_of
from tests.support.crash.zygote import Zygote
from tests.support.sink_places import PLACES, PostgresPlace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import Servers

KILLS = [
    (Step.DELIVER_READ, (1, 2, 3)),
    (Step.SINK_WRITE, (1, 2, 3, 4, 5)),
    (Step.SINK_COMMIT, (1, 2)),
    (Step.SINK_COMMITTED, (1, 2)),
    (Step.DEAD_LETTER_WRITE, (1,)),
    (Step.DEAD_LETTER_FSYNC, (1,)),
    (Step.DEAD_LETTER_INDEX, (1,)),
    (Step.DEAD_LETTER_WRITTEN, (1,)),
    (Step.CURSOR_WRITE, (1, 2)),
    (Step.CURSOR_WRITTEN, (1, 2)),
    (Step.OUTBOX_TRIM, (1,)),
    (Step.OUTBOX_TRIMMED, (1,)),
]
"""Each step of delivery, and which times of it: batch 1 is tried three times before the sink has it."""


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.fixture
def lane(tmp_path: Path, servers: Servers) -> Lane:
    place = PLACES["postgres"](tmp_path, servers)
    assert isinstance(place, PostgresPlace)
    lane = Lane(tmp_path, place.dsn)
    lane.prepare()
    return lane


def is_whole(found: Found) -> bool:
    """Whether the sink has exactly the batches up to its cursor, in order, and its cursor never passed a hole."""
    upto = range(1, found.cursor + 1)
    return found.rows == rows_of(*upto) and found.moves == [(oseq, len(rows_of(*range(1, oseq + 1)))) for oseq in upto]


@pytest.mark.req("D1", "X5", "M2", "M20")
@pytest.mark.parametrize(("step", "nth"), [(step, nth) for step, times in KILLS for nth in times])
def test_a_kill_on_the_way_leaves_no_hole_and_the_rest_follows_in_order(
    zygote: Zygote, lane: Lane, step: Step, nth: int
) -> None:
    assert lane.live(zygote, step, nth).killed
    left = lane.look()
    assert is_whole(left)
    assert lane.stored_cursor() <= left.cursor
    ended = lane.live(zygote)
    assert ended.code == 0, ended.error
    assert is_whole(lane.look())
    assert (lane.look().cursor, lane.stored_cursor(), lane.dead_letters()) == (BATCHES, BATCHES, [REFUSED])


def test_batch_one_is_tried_three_times_and_the_others_wait_for_it(zygote: Zygote, lane: Lane) -> None:
    counts = lane.live(zygote).counts
    assert counts[Step.SINK_WRITE] == FAILURES + BATCHES + 1, "one more for the batch of which a row was refused"
    assert counts[Step.SINK_COMMIT] == BATCHES
    assert is_whole(lane.look())


@pytest.mark.req("M2")
def test_a_lane_that_goes_on_behind_a_failed_batch_is_stopped_by_the_sink(zygote: Zygote, lane: Lane) -> None:
    ended = lane.live(zygote, bug="goes_on_behind_a_failed_batch")
    assert "would leave a gap" in ended.error
    assert is_whole(lane.look())


@pytest.mark.req("M2")
def test_a_sink_that_takes_any_batch_is_noticed(zygote: Zygote, lane: Lane) -> None:
    lane.live(zygote, bug="takes_any_batch")
    assert not is_whole(lane.look())


@pytest.mark.req("X5")
def test_rows_and_cursor_in_two_transactions_are_noticed(zygote: Zygote, lane: Lane) -> None:
    assert lane.live(zygote, Step.SINK_COMMIT, bug="rows_and_cursor_apart").killed
    assert not is_whole(lane.look())
