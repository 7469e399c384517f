"""What `make orders` and `make bench` run, in a real terminal: interrupted, and run again."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.command_line import ROOT, wait_until
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import assert_clean, java_of


def test_ctrl_c_drains_it_and_the_next_run_goes_on_and_reconciles(tmp_path: Path) -> None:
    command = [sys.executable, ROOT / "examples" / "orders.py", "--orders", 2000, "--directory", tmp_path / "orders"]
    with Terminal(command, directory=tmp_path, columns=60) as terminal:
        terminal.wait_for("captured", 60)
        wait_until(lambda: bool(java_of(terminal)), 60)
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert_clean(terminal)
        (progress, *said) = terminal.lines
        assert progress.endswith("^C")
        assert "Run it again: it goes on where it was." in "".join(said)
        wait_until(lambda: not terminal.processes())
    with Terminal(command, directory=tmp_path) as terminal:
        assert terminal.end(120) == 0
        assert_clean(terminal)
        assert "Reconciled: 2,000 orders, none missing, none doubled" in terminal.text


def test_ctrl_c_ends_a_benchmark_with_one_line(tmp_path: Path) -> None:
    environment: dict[str, str | None] = {"PYTHONPATH": str(ROOT)}
    with Terminal([sys.executable, "-m", "bench", "ledger"], directory=tmp_path, environment=environment) as terminal:
        terminal.wait_for("bench: ledger …")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
        assert_clean(terminal)
        assert terminal.lines[-1].endswith("bench: interrupted; there are no figures.")
