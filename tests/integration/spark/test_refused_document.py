"""A document with a column that does not exist: the real commands say so at once, with its place, and once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import holdfast

if TYPE_CHECKING:
    from pathlib import Path

WRONG = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  source: {type: generator, name: orders, events: 500}
  process:
    - sql: SELECT seq, after FROM events
    - sql: |
        SELECT seq,
               after.nme AS n
        FROM events
  sinks: [{name: table, type: sqlite, path: orders.db, table: orders}]
  spark: {master: "local[1]"}
"""
REASON = "Spark refuses step 2 (sql) at pipeline.yaml:10:16: [FIELD_NOT_FOUND] No such struct field `nme`"


@pytest.mark.timeout(400)
def test_it_is_found_without_data_ends_a_run_at_once_and_can_be_mended(tmp_path: Path) -> None:
    document = tmp_path / "pipeline.yaml"
    document.write_text(WRONG)
    found = holdfast("validate", "--spark", "--output", "json", directory=tmp_path)
    assert found.code == 1
    (problem,) = found.json["problems"]
    assert problem["place"] == "pipeline.yaml:10:16"
    assert problem["what"].startswith("Spark refuses step 2 (sql): [FIELD_NOT_FOUND] No such struct field `nme`")
    assert found.err == ""
    assert list(tmp_path.iterdir()) == [document], "nothing is made by looking"

    ended = holdfast("run", directory=tmp_path)
    assert ended.code == 1
    assert ended.err.count(REASON) == 1
    assert ended.err.count("HF-811") == 1
    assert "Traceback" not in ended.err
    assert "\tat " not in ended.err
    assert "org.apache.spark" not in ended.err
    assert "started again" not in ended.err, "it is not tried a second time"
    assert "Draining" not in ended.err

    document.write_text(WRONG.replace("after.nme", "after.n"))
    mended = holdfast("run", "--until", "caught-up", directory=tmp_path)
    assert mended.code == 0, mended.err
    assert f"its last run failed: {REASON}" in mended.err
    with closing(sqlite3.connect(tmp_path / "orders.db")) as table:
        assert table.execute("SELECT count(*), count(DISTINCT n), max(n) FROM orders").fetchone() == (500, 500, 500)
