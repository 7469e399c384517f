"""kill -9 of a pipeline that is pushed to over HTTP, under load: each push that was answered with 200 is there once."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.http_life import Life
from tests.support.http_senders import answers, reconcile, sending, wait_for_answers
from tests.support.keeper import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.http_senders import Sender

KILLS, MANY_KILLS = 25, 100
SENDERS = 8


@pytest.mark.req("X9", "X5", "D1")
@pytest.mark.timeout(600)
def test_kills_under_load_keep_every_push_that_was_answered_and_double_none(tmp_path: Path, is_long: bool) -> None:
    port, rng = free_port(), random.Random(9)
    with sending(SENDERS, port) as senders:
        for _ in range(MANY_KILLS if is_long else KILLS):
            _life_that_is_killed(tmp_path, port, senders, after=rng.uniform(0, 0.2))
        last = Life(tmp_path, port)
        wait_for_answers(senders, above=answers(senders))
    last.drain()
    reconcile(tmp_path, senders)
    assert sum(sender.lost_answers for sender in senders), "no kill fell between a commit and its answer"
    assert any(sender.open for sender in senders), "no push was given up"


def _life_that_is_killed(directory: Path, port: int, senders: list[Sender], *, after: float) -> None:
    """A life that answers at least one push, and a moment more."""
    before = answers(senders)
    life = Life(directory, port)
    wait_for_answers(senders, above=before)
    time.sleep(after)
    life.kill()
