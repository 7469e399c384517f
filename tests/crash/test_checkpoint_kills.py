"""kill -9 in a loop during checkpoint writes: what is read afterwards is a committed pair, and never an older one."""

from __future__ import annotations

import multiprocessing
import os
import random
import select
import signal
import time
from multiprocessing.reduction import DupFd
from typing import TYPE_CHECKING

import pytest

from tests.crash.writer import OFFSET, STATE, state_after, write_until_killed
from tests.support.backends import BACKENDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.backends import Backend
    from tests.support.servers import Servers

KILLS, MANY_KILLS = 40, 200
DURABLE = [name for name in BACKENDS if name != "memory"]


@pytest.mark.req("K1", "M3")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", DURABLE)
def test_kills_leave_a_committed_pair_each(name: str, tmp_path: Path, servers: Servers, is_long: bool) -> None:
    backend = BACKENDS[name](tmp_path, servers)
    rng = random.Random(name)
    told, kills = 0, MANY_KILLS if is_long else KILLS
    for _ in range(kills):
        told = max(told, _run_and_kill(backend, after=rng.uniform(0, 0.03)))
        told = _committed_pair(backend, at_least=told)
    assert told >= kills, "the writer made progress between the kills"


def _run_and_kill(backend: Backend, *, after: float) -> int:
    """Let a writer commit at least once, kill it a moment later, and return the last number it told."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.writer", "tests.support.backends"])
    reading, writing = os.pipe()
    writer = context.Process(target=_child, args=(backend, DupFd(writing)))
    writer.start()
    os.close(writing)
    try:
        assert select.select([reading], [], [], 30)[0], "the writer committed nothing in 30 s"
        time.sleep(after)
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        lines = _everything(reading).split(b"\n")[:-1]
        assert writer.exitcode == -signal.SIGKILL, f"the writer ended by itself: {writer.exitcode}"
        return int(lines[-1])
    finally:
        os.close(reading)
        writer.close()


def _child(backend: Backend, pipe: object) -> None:
    write_until_killed(backend, pipe.detach())  # type: ignore[attr-defined]


def _everything(pipe: int) -> bytes:
    read = b""
    while chunk := os.read(pipe, 65536):
        read += chunk
    return read


def _committed_pair(backend: Backend, *, at_least: int) -> int:
    """What another process reads now: state and offset of one commit, no older than what was told."""
    with backend.open() as store:
        state, offset = store.get_raw(STATE), store.get_raw(OFFSET)
        assert state is not None
        assert offset is not None
        number = int(offset.payload)
        assert state.payload == state_after(number), "state and offset are of different commits"
        assert number >= at_least, f"commit {at_least} was told as stored, {number} is read"
        assert number <= at_least + 1, "a commit appeared that nobody made"
        return number
