"""A flow in a real process, ended by SIGKILL in the middle of its work: every result comes out exactly once."""

from __future__ import annotations

import shutil
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
MID_SWEEP = ["sweep.write", "sweep.write+", "sweep.prune"]


def run(place: Path, mode: SnapshotMode, store: str, *fate: str) -> int:
    command = [sys.executable, "-m", "tests.support.operator_process", str(place), mode.name, store, *fate]
    return subprocess.run(command, check=False, timeout=60).returncode


def results(place: Path) -> list[int]:
    with closing(sqlite3.connect(place / "results.db")) as db:
        return [value for (value,) in db.execute("SELECT value FROM results ORDER BY rowid")]


def die_twice_then_finish(place: Path, mode: SnapshotMode, store: str, step: str) -> None:
    for count in ("2", "1") if step in MID_SWEEP else ("3", "2"):
        assert run(place, mode, store, step, count) == -signal.SIGKILL
    assert run(place, mode, store) == 0


@pytest.mark.req("K7")
@pytest.mark.parametrize("step", [*MID_PROCESS, *MID_CHECKPOINT, *MID_EMIT, *AT_THE_CUT[1:], *MID_SWEEP])
def test_per_operator_snapshots_give_each_result_once_and_in_order(tmp_path: Path, step: str) -> None:
    die_twice_then_finish(tmp_path, SnapshotMode.PER_OPERATOR, "sqlite", step)
    assert results(tmp_path) == World(MemoryStore(), FIRST, SECOND).run()


@pytest.mark.req("K7")
@pytest.mark.parametrize("step", [*MID_PROCESS, *MID_CHECKPOINT, *MID_EMIT, *AT_THE_CUT, *MID_SWEEP])
def test_aligned_snapshots_give_each_result_once(tmp_path: Path, step: str) -> None:
    die_twice_then_finish(tmp_path, SnapshotMode.ALIGNED, "file", step)
    assert sorted(results(tmp_path)) == sorted(SECOND)


LATE = {
    "operator.applied": ("170", "90"),
    "snapshot.write": ("12", "4"),
    "snapshot.durable": ("11", "5"),
    "cut.durable": ("3", "2"),
    "sweep.write": ("2", "1"),
}
"""How often each step was reached when a process ends: some snapshots are copied by then, and some are not."""


def die_twice_with_the_disk_then_finish(place: Path, mode: SnapshotMode, step: str) -> None:
    for count in LATE[step]:
        assert run(place, mode, "replicated", step, count) == -signal.SIGKILL
        shutil.rmtree(place / "disk")
    assert run(place, mode, "replicated") == 0


@pytest.mark.req("K3", "K7")
@pytest.mark.parametrize("step", LATE)
def test_per_operator_snapshots_give_each_result_once_and_in_order_although_the_disk_is_lost_each_time(
    tmp_path: Path, step: str
) -> None:
    die_twice_with_the_disk_then_finish(tmp_path, SnapshotMode.PER_OPERATOR, step)
    assert results(tmp_path) == World(MemoryStore(), FIRST, SECOND).run()


@pytest.mark.req("K3")
@pytest.mark.parametrize("step", LATE)
def test_aligned_snapshots_lose_no_result_although_the_disk_is_lost_each_time(tmp_path: Path, step: str) -> None:
    die_twice_with_the_disk_then_finish(tmp_path, SnapshotMode.ALIGNED, step)
    assert set(results(tmp_path)) == set(SECOND)
