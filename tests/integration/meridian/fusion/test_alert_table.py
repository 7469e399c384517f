"""The table of last words, by the real sink: it holds the truth in whatever order words come, and however often."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from tests.support.sink_lanes import batch_of, identity

from holdfast import Sqlite, Upsert
from meridian.fusion.emissions import Kind, version_of

WORDS = [
    ("a", 0, Kind.INSERT),
    ("a", 0, Kind.RETRACT),
    ("a", 1, Kind.INSERT),
    ("b", 0, Kind.INSERT),
    ("b", 0, Kind.RETRACT),
]


def rows(words: list[tuple[str, int, Kind]]) -> pa.Table:
    return pa.table(
        {
            "alert_id": [alert for alert, _, _ in words],
            "version": [version_of(sequence, kind) for _, sequence, kind in words],
            "kind": [kind.value for _, _, kind in words],
        }
    )


@pytest.mark.req("LAT-04", "LAT-05")
@pytest.mark.parametrize("seed", range(5))
def test_the_highest_number_stays_and_what_was_taken_back_is_not_brought_to_life(tmp_path: Path, seed: int) -> None:
    words = [*WORDS, *WORDS]
    Random(seed).shuffle(words)
    sink = Sqlite(tmp_path / "alerts.db", table="alerts", mode=Upsert(key=["alert_id"], newer_by="version"))
    sink.open(identity())
    for oseq, word in enumerate(words, 1):
        sink.deliver(batch_of(oseq, rows([word])))
    sink.close()
    with sqlite3.connect(tmp_path / "alerts.db") as db:
        held = db.execute("SELECT alert_id, version, kind FROM alerts ORDER BY alert_id").fetchall()
    assert held == [("a", 2, "insert"), ("b", 1, "retract")]
