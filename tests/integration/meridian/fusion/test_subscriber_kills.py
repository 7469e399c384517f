"""Alerts for a real subscriber that is slow, dead, killed or put back: every word is acted on once, in order."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from random import Random
from threading import Thread

import pytest
from tests.support.deliver_faults import Crash, Dying
from tests.support.deliver_real import Life, RealWorld, publish
from tests.support.deliver_world import all_on_disk, eventually
from tests.support.subscribers import Said, Subscriber, acted_in, life_of, rows

from holdfast import SinkSpec
from holdfast.deliver import LaneState
from holdfast.deliver.clock import SystemClock
from holdfast.model.steps import Step
from meridian.fusion.outputs import ALERTS, WORDS, place
from meridian.fusion.pipeline import tables
from meridian.fusion.subscriber.lane import LANE, alerts_to

ALERTS_SAID = list(chain.from_iterable(zip(*(life_of(f"alert-{number}", 2) for number in range(8)), strict=True)))
"""Eight alerts, told by turns, each corrected twice and taken back."""
LIMIT = 60.0


@pytest.fixture
def subscriber(tmp_path: Path) -> Iterator[Subscriber]:
    subscriber = Subscriber(tmp_path / "book.db")
    yield subscriber
    subscriber.end()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    world = RealWorld(tmp_path, clock=SystemClock())  # type: ignore[arg-type]
    yield world
    world.close()


def begun(world: RealWorld, subscriber: SinkSpec) -> Life:
    """A sender to the subscriber and to the tables of alerts."""
    life = world.life(subscriber, *alert_tables(world))
    life.delivery.start()
    return life


def alert_tables(world: RealWorld) -> list[SinkSpec]:
    return [spec for spec in tables(world.directory) if spec.only == ALERTS.route]


def say(life: Life, *batches: list[Said]) -> None:
    for said in batches:
        life.delivery.published(publish(life.outbox, rows(said)))


def in_batches(said: list[Said], size: int = 6) -> list[list[Said]]:
    return [said[at : at + size] for at in range(0, len(said), size)]


def delivered(life: Life) -> None:
    eventually(life.delivery, all_on_disk, limit=LIMIT)


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, f"not in {LIMIT} s: {what}"
        time.sleep(0.01)


@pytest.mark.req("DLV-10")
def test_words_for_a_subscriber_that_is_stopped_are_late_and_acted_on_once_when_it_goes_on(
    world: RealWorld, subscriber: Subscriber
) -> None:
    subscriber.start()
    spec = alerts_to(subscriber.url)
    life = begun(world, spec)
    subscriber.signal(signal.SIGSTOP)
    say(life, *in_batches(ALERTS_SAID))
    until(lambda: life.delivery.status().lanes[LANE].attempts > 0, "a deadline is missed")
    late = life.delivery.status().lanes[LANE]
    assert late.last_error is not None
    assert "did not answer" in late.last_error.message
    subscriber.signal(signal.SIGCONT)
    delivered(life)
    assert subscriber.acted() == ALERTS_SAID
    assert spec.sink.missed > 0  # type: ignore[attr-defined]
    subscriber.signal(signal.SIGTERM)
    assert [said for _, said in subscriber.told()] == ALERTS_SAID


@pytest.mark.req("DLV-10")
def test_a_dead_subscriber_stops_no_table_and_is_told_everything_in_order_when_it_is_there(
    world: RealWorld, subscriber: Subscriber, tmp_path: Path
) -> None:
    life = begun(world, alerts_to(subscriber.url))
    say(life, *in_batches(ALERTS_SAID))
    until(lambda: words_stored(tmp_path) == ALERTS_SAID, "the table has every word")
    assert life.delivery.status().lanes[LANE].state in (LaneState.RETRYING, LaneState.FROZEN)
    assert life.delivery.failure() is None
    subscriber.start()
    delivered(life)
    assert subscriber.acted() == ALERTS_SAID


@pytest.mark.req("DLV-10")
def test_every_word_is_acted_on_once_through_kills_of_the_subscriber_and_of_the_sender(
    world: RealWorld, subscriber: Subscriber
) -> None:
    random, said = Random(7), [word for number in range(60) for word in life_of(f"alert-{number}", 1)]
    subscriber.start()
    killer = Thread(target=killed_often, args=(subscriber, random, 6))
    killer.start()
    left = in_batches(said, 8)
    try:
        while left or killer.is_alive():
            hook = Dying(
                random.choice([Step.SINK_COMMIT, Step.SINK_COMMITTED, Step.CURSOR_WRITE]), random.randint(2, 6)
            )
            left = left[one_life(world, alerts_to(subscriber.url), left[:4], hook) :]
    finally:
        killer.join()
    delivered(begun(world, alerts_to(subscriber.url)))
    assert subscriber.acted() == said
    subscriber.signal(signal.SIGTERM)
    told = dict(subscriber.told())
    assert list(told) == sorted(told), "a line that is printed again after a kill has the number of the first"
    assert list(told.values()) == said


def one_life(world: RealWorld, spec: SinkSpec, batches: list[list[Said]], hook: Dying) -> int:
    """A sender that publishes some batches and dies somewhere; how many it published."""
    before, published = world.life().outbox.last_oseq(), 0
    world.lives[-1].end()
    life = world.life(spec, *alert_tables(world), hook=hook)
    try:
        life.delivery.start()
        for said in batches:
            say(life, said)
        eventually(life.delivery, lambda status: hook.died or all_on_disk(status), limit=LIMIT)
    except Crash:
        assert hook.died
    finally:
        published = life.outbox.last_oseq() - before
        life.end()
    return published


def killed_often(subscriber: Subscriber, random: Random, times: int) -> None:
    """Kill and start it again and again, each time shortly after it answers."""
    for _ in range(times):
        time.sleep(random.uniform(0.0, 0.3))
        subscriber.signal(signal.SIGKILL)
        subscriber.start()


@pytest.mark.req("DLV-10")
def test_a_subscriber_whose_book_was_put_back_catches_up_on_what_it_lacks(
    world: RealWorld, subscriber: Subscriber, tmp_path: Path
) -> None:
    life = begun(world, alerts_to(subscriber.url))
    subscriber.start()
    first, second, third = (ALERTS_SAID[at : at + 16] for at in (0, 16, 32))
    say(life, first)
    delivered(life)
    subscriber.signal(signal.SIGTERM)
    shutil.copyfile(subscriber.book, tmp_path / "copy.db")
    subscriber.start()
    say(life, second)
    delivered(life)
    subscriber.signal(signal.SIGTERM)
    shutil.copyfile(tmp_path / "copy.db", subscriber.book)
    assert acted_in(subscriber.book) == first
    say(life, third)
    subscriber.start("--catch-up", str(place(tmp_path, WORDS)))
    delivered(life)
    assert subscriber.acted() == ALERTS_SAID


def test_a_subscriber_takes_alerts_only_from_who_knows_its_token(
    world: RealWorld, subscriber: Subscriber, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("open-sesame\n")
    subscriber.start("--token-file", str(tmp_path / "token"))
    life = begun(world, alerts_to(subscriber.url, token="guessed"))
    say(life, ALERTS_SAID)
    frozen = eventually(life.delivery, lambda told: told.lanes[LANE].state is LaneState.FROZEN, limit=LIMIT)
    assert "401" in str(frozen.lanes[LANE].last_error)
    assert life.delivery.failure() is None, "the tables go on"
    life.end()
    delivered(begun(world, alerts_to(subscriber.url, token="open-sesame")))
    assert subscriber.acted() == ALERTS_SAID


def words_stored(directory: Path) -> list[Said]:
    path = place(directory, WORDS)
    if not path.exists():
        return []
    with sqlite3.connect(path) as db:
        found = db.execute("SELECT name FROM sqlite_master WHERE name = 'words'").fetchall()
        return db.execute("SELECT alert_id, sequence, kind FROM words ORDER BY rowid").fetchall() if found else []
