"""A lane into an HTTP server over real logs: cut, refused, throttled, crashed at any step; and into our own source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from holdfast.deliver import LaneState, OnExhausted
from holdfast.log import InboxReader
from holdfast.model.steps import Step
from holdfast.sinks import Http, HttpBody
from tests.support.deliver_faults import Crash, Dying
from tests.support.deliver_real import RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually, lane, spec
from tests.support.http_source import receiving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.deliver import Delivery
    from tests.support.http_receiver import RoomAddress
    from tests.support.http_source import Receiving
    from tests.support.servers import Servers

BATCHES, ROWS = 3, 16
BAD = ["1-5", "2-0", "2-11", "2-15"]
IDS = [f"{oseq}-{at}" for oseq in range(1, BATCHES + 1) for at in range(ROWS)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path)
    yield world
    world.close()


@pytest.fixture
def room(servers: Servers) -> RoomAddress:
    return servers.fresh_room()


def batch(oseq: int, rows: int = ROWS) -> pa.Table:
    return pa.table({"id": [f"{oseq}-{at}" for at in range(rows)]})


def run(world: RealWorld, sink: Http, hook: Dying | None = None, **how: Any) -> Delivery:
    """One life: publish what is missing, and deliver until all is done or the process dies."""
    hook = hook or Dying()
    life = world.life(spec("web", sink, **how), hook=hook)
    try:
        life.delivery.start()
        while (last := life.outbox.last_oseq()) < BATCHES:
            life.delivery.published(publish(life.outbox, batch(last + 1)))
        eventually(life.delivery, lambda status: hook.died or all_on_disk(status))
        if not hook.died:
            life.delivery.drain(60)
    except Crash:
        assert hook.died
    finally:
        life.end()
    return life.delivery


def taken(room: RoomAddress) -> list[str]:
    return [row["id"] for row in room.look().rows]


def dead(world: RealWorld) -> list[str]:
    return sorted(f"{entry.oseq}-{entry.ordinal}" for entry in world.life().dead.entries())


@pytest.mark.req("D1", "X5", "K13")
@pytest.mark.parametrize("occurrence", [1, 2, 4, 7])
@pytest.mark.parametrize(
    "step",
    [
        Step.SINK_WRITE,
        Step.SINK_COMMIT,
        Step.SINK_COMMITTED,
        Step.DEAD_LETTER_WRITE,
        Step.DEAD_LETTER_WRITTEN,
        Step.CURSOR_WRITE,
        Step.CURSOR_WRITTEN,
    ],
)
def test_a_crash_leaves_every_row_once_with_a_server_that_knows_keys(
    world: RealWorld, room: RoomAddress, step: Step, occurrence: int
) -> None:
    """Requests over 100 bytes are answered with 413, and those with a bad row with 422."""
    room.tell(max_bytes=100, refused=BAD)
    run(world, Http(room.url), Dying(step, occurrence))
    run(world, Http(room.url))
    assert taken(room) == [row for row in IDS if row not in BAD]
    assert dead(world) == sorted(BAD)


@pytest.mark.req("K13")
def test_a_batch_answered_with_413_is_cut_and_a_row_that_never_fits_is_a_dead_letter_before_the_cursor_moves(
    world: RealWorld, room: RoomAddress
) -> None:
    room.tell(max_bytes=60)
    steps: list[str] = []
    life = world.life(spec("web", Http(room.url)), hook=steps.append)
    rows = pa.table({"id": ["a", "b", "x" * 100, "c"]})
    publish(life.outbox, rows)
    life.delivery.start()
    eventually(life.delivery, all_on_disk)
    assert taken(room) == ["a", "b", "c"]
    (entry,) = life.dead.entries()
    assert (entry.ordinal, entry.error_code) == (2, "HF-404")
    assert "answered 413" in entry.message
    assert [request["status"] for request in room.look().requests] == [413, 200, 413, 413, 200]
    after = steps[steps.index(Step.SINK_WRITE) :]
    assert after.index(Step.DEAD_LETTER_WRITTEN) < after.index(Step.CURSOR_WRITE)


@pytest.mark.req("G9")
def test_a_server_that_refuses_everything_is_asked_a_bounded_number_of_times(
    world: RealWorld, room: RoomAddress
) -> None:
    room.tell(always={"status": 400, "said": {"error": "no"}})
    run(world, Http(room.url))
    assert len(room.look().requests) == BATCHES * (2 * ROWS - 1)
    assert dead(world) == sorted(IDS)


@pytest.mark.req("G9")
@pytest.mark.parametrize("status", [401, 403, 404, 308])
def test_an_answer_that_is_not_about_the_rows_freezes_the_lane_until_it_is_mended(
    world: RealWorld, room: RoomAddress, status: int
) -> None:
    room.tell(always={"status": status})
    life = world.life(spec("web", Http(room.url)))
    publish(life.outbox, batch(1))
    life.delivery.start()
    frozen = eventually(life.delivery, lambda told: told.lanes["web"].state is LaneState.FROZEN)
    assert f"answered {status}" in str(frozen.lanes["web"].last_error)
    assert life.delivery.failure() is None
    for asked in (1, 2):
        world.clock.wait_for_sleepers()
        assert len(room.look().requests) == asked, "it is asked once in each cool-down"
        world.clock.advance(10)
    room.tell(always={})
    world.clock.run_until(lambda: all_on_disk(life.delivery.status()))
    assert len(taken(room)) == ROWS
    assert list(life.dead.entries()) == []


def test_a_server_that_asks_for_time_gets_it(world: RealWorld, room: RoomAddress) -> None:
    room.tell(next_answers=[{"status": 429, "headers": {"Retry-After": "20"}}])
    life = world.life(spec("web", Http(room.url)))
    publish(life.outbox, batch(1))
    life.delivery.start()
    world.clock.wait_for_sleepers()
    world.clock.advance(19)
    assert len(room.look().requests) == 1
    world.clock.run_until(lambda: all_on_disk(life.delivery.status()))
    assert len(taken(room)) == ROWS


@pytest.mark.req("X5")
def test_lost_answers_and_broken_connections_leave_every_row_once(world: RealWorld, room: RoomAddress) -> None:
    trouble = [{"lose": True}, {"cut": True}, {"status": 500}, {"lose": True}, {}, {"status": 502}, {"lose": True}]
    room.tell(next_answers=trouble)
    life = world.life(spec("web", Http(room.url, max_rows=4)))
    for oseq in range(1, BATCHES + 1):
        publish(life.outbox, batch(oseq))
    life.delivery.start()
    world.clock.run_until(lambda: all_on_disk(life.delivery.status()))
    assert taken(room) == IDS
    assert room.look().next_answers == []


def test_single_rows_keep_their_order_and_a_bad_one_goes_alone(world: RealWorld, room: RoomAddress) -> None:
    room.tell(refused=BAD)
    run(world, Http(room.url, body=HttpBody.OBJECT))
    assert taken(room) == [row for row in IDS if row not in BAD]
    assert len(room.look().requests) == len(IDS)
    assert dead(world) == sorted(BAD)


def test_a_server_that_knows_no_keys_has_every_row_at_least_once(world: RealWorld, room: RoomAddress) -> None:
    room.tell(knows_keys=False)
    run(world, Http(room.url), Dying(Step.SINK_COMMITTED, 2))
    run(world, Http(room.url))
    assert set(taken(room)) == set(IDS)
    assert len(taken(room)) > len(IDS), "the tier says what it is worth"


def test_a_budget_that_is_used_up_gives_to_the_dead_letters_only_what_was_not_taken(
    world: RealWorld, room: RoomAddress
) -> None:
    room.tell(next_answers=[{}, {}], always={"status": 503})
    life = world.life(spec("web", Http(room.url, max_rows=4), on_exhausted=OnExhausted.DEAD_LETTER))
    publish(life.outbox, batch(1))
    life.delivery.start()
    world.clock.run_until(lambda: all_on_disk(life.delivery.status()))
    assert taken(room) == IDS[:8]
    assert sorted(entry.ordinal for entry in life.dead.entries()) == list(range(8, ROWS))
    assert (lane(life.delivery, "web").rows_out, lane(life.delivery, "web").rows_dead) == (8, 8)


# Our sink and our source


@pytest.mark.req("A4", "X5")
@pytest.mark.parametrize("body", HttpBody)
@pytest.mark.parametrize("step", [None, Step.SINK_COMMIT, Step.SINK_COMMITTED])
def test_what_our_sink_sends_and_our_source_takes_in_is_what_it_was(
    world: RealWorld, tmp_path: Path, body: HttpBody, step: Step | None
) -> None:
    with receiving(tmp_path / "inbox") as work:
        url = f"{work.address}/v1/events"
        run(world, Http(url, body=body, max_rows=5), Dying(step, 5) if step else None)
        run(world, Http(url, body=body, max_rows=5))
        assert [json.loads(payload)["id"] for payload in work.payloads()] == IDS
        assert dead(world) == []


@pytest.mark.req("A4")
def test_what_our_source_cannot_take_now_is_brought_when_it_can(world: RealWorld, tmp_path: Path) -> None:
    with receiving(tmp_path / "inbox", quota=4000) as work:
        life = world.life(spec("web", Http(f"{work.address}/v1/events", max_rows=2)))
        for oseq in range(1, BATCHES + 1):
            publish(life.outbox, batch(oseq))
        life.delivery.start()

        def is_done() -> bool:
            """Somebody reads the inbox whenever it has refused something, and it forgets what was read."""
            if _refusals(work) > len(refusals):
                refusals.append(429)
                found.extend(_read(work, after=len(found)))
                work.inbox.set_cursor("spark", len(found))
                work.inbox.trim()
            return all_on_disk(life.delivery.status())

        found: list[str] = []
        refusals: list[int] = []
        world.clock.run_until(is_done)
        assert refusals
        assert found + _read(work, after=len(found)) == IDS


def _refusals(work: Receiving) -> int:
    boundary = work.reception.status().boundary
    return 0 if boundary is None else boundary.answers.get(429, 0)


def _read(work: Receiving, *, after: int) -> list[str]:
    with InboxReader.open(work.directory) as reader:
        return [json.loads(one)["id"] for rows in reader.read(after, None) for one in rows["payload"].to_pylist()]
