"""A flow in a real process, ended by SIGKILL in the middle of its work: every result comes out exactly once."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from holdfast.checkpoint.memory import MemoryStore
from holdfast.checkpoint.operators import SnapshotMode
from tests.support.operator_flows import World
from tests.support.operator_process import FIRST, SECOND

if TYPE_CHECKING:
    from pathlib import Path

MID_PROCESS = ["operator.applied"]
MID_CHECKPOINT = ["snapshot.write", "snapshot.write+", "snapshot.durable"]
MID_EMIT = ["operator.emit", "outside.written", "outside.committed"]
AT_THE_CUT = ["barrier.forward", "cut.write", "cut.write+", "cut.durable"]


def run(place: Path, mode: SnapshotMode, store: str, *fate: str) -> int:
    command = [sys.executable, "-m", "tests.support.operator_process", str(place), mode.name, store, *fate]
    return subprocess.run(command, check=False, timeout=60).returncode


def results(place: Path) -> list[int]:
    with closing(sqlite3.connect(place / "results.db")) as db:
        return [value for (value,) in db.execute("SELECT value FROM results ORDER BY rowid")]


def die_twice_then_finish(place: Path, mode: SnapshotMode, store: str, step: str) -> None:
    for count in ("3", "2"):
        assert run(place, mode, store, step, count) == -signal.SIGKILL
    assert run(place, mode, store) == 0


@pytest.mark.req("K7")
@pytest.mark.parametrize("step", [*MID_PROCESS, *MID_CHECKPOINT, *MID_EMIT])
def test_per_operator_snapshots_give_each_result_once_and_in_order(tmp_path: Path, step: str) -> None:
    die_twice_then_finish(tmp_path, SnapshotMode.PER_OPERATOR, "sqlite", step)
    assert results(tmp_path) == World(MemoryStore(), FIRST, SECOND).run()


@pytest.mark.req("K7")
@pytest.mark.parametrize("step", [*MID_PROCESS, *MID_CHECKPOINT, *MID_EMIT, *AT_THE_CUT])
def test_aligned_snapshots_give_each_result_once(tmp_path: Path, step: str) -> None:
    die_twice_then_finish(tmp_path, SnapshotMode.ALIGNED, "file", step)
    assert sorted(results(tmp_path)) == sorted(SECOND)
