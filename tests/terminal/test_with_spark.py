"""The real thing in a real terminal: Spark and its JVM start, run and end without a word of their own on the screen."""

from __future__ import annotations

from pathlib import Path

from holdfast.runtime.layout import Layout
from tests.support.command_line import wait_until
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import DELIVERED, assert_clean, java_of

_DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  source: {type: generator, name: orders, pace: {rate: 200}}
  process: [{sql: "SELECT seq, after.n AS n FROM events"}]
  sinks: [{name: table, type: sqlite, path: orders.db, table: orders}]
  spark: {master: "local[1]"}
"""


def test_ctrl_c_while_the_jvm_starts_twice_then_and_when_it_has_delivered(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(_DOCUMENT)
    for keys, ended in ((CTRL_C, "(graceful)"), (CTRL_C + CTRL_C, "has stopped (")):
        with Terminal(["holdfast", "run"], directory=tmp_path) as terminal:
            wait_until(lambda terminal=terminal: bool(java_of(terminal)), 60)  # type: ignore[misc]
            terminal.press(keys)
            assert terminal.end() == 0
            assert_clean(terminal)
            assert ended in terminal.text
            wait_until(lambda terminal=terminal: not terminal.processes())  # type: ignore[misc]
    with Terminal(["holdfast", "run"], directory=tmp_path) as terminal:
        terminal.wait_for(DELIVERED, 100)
        terminal.resize(200, 50)
        terminal.wait_for(lambda screen: any("| table" in line for line in screen.lines))
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
        assert "orders has stopped (graceful)." in terminal.text
        wait_until(lambda: not terminal.processes())
    assert "Spark" in Layout(tmp_path / "holdfast-data" / "orders").spark_log.read_text()
