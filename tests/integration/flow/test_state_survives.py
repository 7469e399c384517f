"""A graph with state in a real process, ended by SIGKILL in the middle of its work: state and offset stay together."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import accumulate
from typing import TYPE_CHECKING

import pytest
from tests.support.flow_process import NUMBERS

if TYPE_CHECKING:
    from pathlib import Path

MID_PROCESS = ["state.changed", "outside.written"]
MID_CHECKPOINT = ["snapshot.copied", "snapshot.write", "snapshot.write+", "snapshot.durable"]
AT_THE_RECORD = ["cut.write", "cut.write+", "cut.durable"]


def run(place: Path, store: str, *fate: str) -> int:
    command = [sys.executable, "-m", "tests.support.flow_process", str(place), store, *fate]
    return subprocess.run(command, check=False, timeout=60).returncode


def written(place: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(place / "sums.db")) as db:
        return list(db.execute("SELECT number, total FROM sums ORDER BY rowid"))


@pytest.mark.req("CKP-01", "CKP-02")
@pytest.mark.parametrize(
    ("store", "step"),
    [
        *(("sqlite", step) for step in (*MID_PROCESS, *MID_CHECKPOINT, *AT_THE_RECORD)),
        *(("file", step) for step in ("snapshot.write+", "cut.write+")),
    ],
)
def test_every_sum_is_right_and_none_is_missing(tmp_path: Path, store: str, step: str) -> None:
    assert run(tmp_path, store, step, "60" if step in MID_PROCESS else "3") == -signal.SIGKILL
    assert run(tmp_path, store) == 0
    sums = written(tmp_path)
    assert set(sums) == set(zip(NUMBERS, accumulate(NUMBERS), strict=True)), "a torn state would give another sum"
    if step not in MID_PROCESS:
        assert [number for number, _ in sums].count(1) == 1, "two snapshots were complete: it went on from there"
