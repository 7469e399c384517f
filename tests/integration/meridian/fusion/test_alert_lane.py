"""How alerts are sent: under a key that stays, by a deadline that is counted, and never behind the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.deliver_faults import Crash, Dying
from tests.support.deliver_real import RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually
from tests.support.http_receiver import RoomAddress
from tests.support.servers import Servers
from tests.support.subscribers import Said, Subscriber, life_of, rows

from holdfast import SinkSpec
from holdfast.deliver.clock import SystemClock
from holdfast.model.steps import Step
from meridian.fusion.subscriber.lane import Prompt, alerts_to

WORDS = [word for number in range(5) for word in life_of(f"alert-{number}", 0)]
"""Ten: five alerts, each told and taken back."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path, clock=SystemClock())  # type: ignore[arg-type]
    yield world
    world.close()


@pytest.fixture
def room(servers: Servers) -> RoomAddress:
    return servers.fresh_room()


def required(spec: SinkSpec) -> SinkSpec:
    """The same lane alone in a pipeline, which must have a lane that is required."""
    return SinkSpec(spec.name, spec.sink, only=spec.only, columns=spec.columns, retry=spec.retry, breaker=spec.breaker)


class Looking(Dying):
    """Looks into the book whenever a cursor is written."""

    def __init__(self, subscriber: Subscriber) -> None:
        super().__init__()
        self._subscriber = subscriber
        self.entries: list[int] = []

    def __call__(self, step: str, /) -> None:
        super().__call__(step)
        if step == Step.CURSOR_WRITE:
            self.entries.append(len(self._subscriber.acted()))


def one_by_one(world: RealWorld, spec: SinkSpec, words: list[Said], hook: Dying | None = None) -> Dying:
    """Publish each word alone, when the one before is delivered and its cursor on disk, until the process dies."""
    hook = hook or Dying()
    life = world.life(required(spec), hook=hook)
    try:
        life.delivery.start()
        eventually(life.delivery, lambda status: hook.died or all_on_disk(status))
        for word in words[life.outbox.last_oseq() :]:
            life.delivery.published(publish(life.outbox, rows([word])))
            eventually(life.delivery, lambda status: hook.died or all_on_disk(status))
    except Crash:
        assert hook.died
    finally:
        life.end()
    return hook


@pytest.mark.req("DLV-09")
def test_every_request_has_a_key_and_one_that_is_sent_again_after_a_crash_has_the_same(
    world: RealWorld, room: RoomAddress
) -> None:
    room.tell(knows_keys=False)
    one_by_one(world, alerts_to(room.url), WORDS[:3], Dying(Step.SINK_COMMITTED, 2))
    one_by_one(world, alerts_to(room.url), WORDS[:3])
    keys = [request["key"] for request in room.look().requests]
    assert len(keys) == 4
    assert all(keys)
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3
    assert [row["alert_id"] for row in room.look().rows] == ["alert-0", "alert-0", "alert-0", "alert-1"]


@pytest.mark.req("DLV-03")
def test_a_crash_between_effect_and_cursor_at_the_fifth_of_ten_words_sends_eleven_and_acts_on_ten(
    world: RealWorld, subscriber: Subscriber
) -> None:
    crashed = one_by_one(world, alerts_to(subscriber.url), WORDS, Dying(Step.SINK_COMMITTED, 5))
    assert (crashed.seen[Step.SINK_COMMIT], subscriber.acted()) == (5, WORDS[:5])
    restarted = one_by_one(world, alerts_to(subscriber.url), WORDS)
    assert (restarted.seen[Step.SINK_COMMIT], subscriber.acted()) == (6, WORDS)


@pytest.mark.req("DLV-02")
def test_a_cursor_is_written_only_when_everything_up_to_it_is_in_the_book(
    world: RealWorld, subscriber: Subscriber
) -> None:
    looking = one_by_one(world, alerts_to(subscriber.url), WORDS, Looking(subscriber))
    assert isinstance(looking, Looking)
    assert looking.entries[-len(WORDS) :] == list(range(1, len(WORDS) + 1))
    cursors = world.cursors()
    assert cursors is not None
    assert cursors.committed == len(WORDS)


def test_a_subscriber_that_is_always_late_is_told_everything_once_and_every_lateness_is_counted(
    world: RealWorld, room: RoomAddress
) -> None:
    room.tell(always={"wait": 0.2})
    sink = prompt(alerts_to(room.url, deadline=0.1))
    one_by_one(world, SinkSpec("subscriber", sink, only="alert"), WORDS)
    seen = room.look()
    assert [(row["alert_id"], row["sequence"], row["kind"]) for row in seen.rows] == WORDS
    assert len(seen.requests) == len(WORDS) + 1, "only the first was given up and sent again"
    assert [(each.name, each.value) for each in sink.metrics()] == [
        ("timed_sink_deadline_misses_total", len(WORDS) + 1)
    ]


def test_a_subscriber_that_is_in_time_again_has_to_keep_the_deadline_again(room: RoomAddress, world: RealWorld) -> None:
    room.tell(next_answers=[{"wait": 1.5}, {}, {"wait": 1.5}])
    sink = prompt(alerts_to(room.url, deadline=1.0))
    one_by_one(world, SinkSpec("subscriber", sink, only="alert"), WORDS[:2])
    assert sink.missed == 2
    assert len(room.look().requests) == 4


def prompt(spec: SinkSpec) -> Prompt:
    assert isinstance(spec.sink, Prompt)
    return spec.sink
