"""Idempotency keys are forgotten when there are too many of them, and never while they are among the newest."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import pytest

from holdfast.capture.reception import Intake, KeptKeys
from holdfast.log import Inbox
from tests.support.log_events import SOURCE, events

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT, STEP = 20, 10


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Inbox]:
    monkeypatch.setattr("holdfast.capture.reception._KEYS_AT_ONCE", STEP)
    with Inbox.open(tmp_path, name=SOURCE, epoch=1, flush_interval=0.0001) as opened:
        yield opened


def stored(inbox: Inbox) -> list[str]:
    """The keys that the inbox knows, oldest first."""
    with inbox._store.log.index.reading() as db:
        return [key for (key,) in db.execute("SELECT key FROM keys ORDER BY seq")]


class Pushing:
    """Pushes with keys, one after the other, and the upkeep of the keys after each."""

    def __init__(self, inbox: Inbox) -> None:
        self.inbox = inbox
        self.intake = Intake(inbox, lambda error: pytest.fail(str(error)))
        self.upkeep = KeptKeys(inbox, KEPT)
        self.upkeep.tend(self.intake.keys)

    def push(self, key: str, rows: int = 1, uncounted: int = 0) -> None:
        """:param uncounted: so many of the newest keys are in the inbox and not counted yet at the upkeep."""
        noted = Event()
        pushed = self.intake.push(events(rows, ends={rows}), keys=[*[None] * (rows - 1), key])
        pushed.add_done_callback(lambda _: noted.set())  # runs after the one of the intake
        assert noted.wait(30)
        self.upkeep.tend(max(0, self.intake.keys - uncounted))


@pytest.mark.req("X9", "X20")
def test_the_newest_keys_are_always_there_and_older_ones_go(inbox: Inbox) -> None:
    pushing = Pushing(inbox)
    for number in range(6 * KEPT):
        pushing.push(f"key-{number}", rows=1 + number % 3)
        known = stored(inbox)
        newest = [f"key-{each}" for each in range(max(0, number + 1 - KEPT), number + 1)]
        assert known[-len(newest) :] == newest
        assert len(known) <= KEPT + 3 * STEP


@pytest.mark.req("X9")
def test_a_key_that_is_counted_late_makes_no_other_older(inbox: Inbox) -> None:
    """An event is in the inbox a moment before its key is counted: then a group seems to begin earlier than it does."""
    pushing = Pushing(inbox)
    for number in range(6 * KEPT):
        pushing.push(f"key-{number}", uncounted=STEP - 1 if number < 2 * STEP - 1 else 0)
        newest = [f"key-{each}" for each in range(max(0, number + 1 - KEPT), number + 1)]
        assert stored(inbox)[-len(newest) :] == newest


@pytest.mark.req("X9")
def test_pushes_that_come_again_make_no_key_older(inbox: Inbox) -> None:
    """A sender that repeats one push a hundred times has used one key, and the others are still among the newest."""
    pushing = Pushing(inbox)
    keys = [f"key-{number}" for number in range(KEPT)]
    for key in keys:
        pushing.push(key)
    for _ in range(10 * STEP):
        pushing.push(keys[-1])
    assert stored(inbox) == keys


@pytest.mark.req("X20")
def test_keys_from_before_a_restart_count(inbox: Inbox) -> None:
    first = Pushing(inbox)
    for number in range(3 * KEPT):
        first.push(f"before-{number}")
    second = Pushing(inbox)
    assert stored(inbox) == [f"before-{number}" for number in range(2 * KEPT, 3 * KEPT)]
    for number in range(KEPT):
        second.push(f"after-{number}")
    assert stored(inbox)[-KEPT:] == [f"after-{number}" for number in range(KEPT)]
