"""What a run, its status and its live screen look like: narrow, wide, resized, without colour, and into a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.checkpoint import SqliteStore
from holdfast.control.client import ask
from tests.support.command_line import DOCUMENT, ROOT, holdfast, wait_until
from tests.support.crash.orders import prepare
from tests.support.terminal import CTRL_C, Terminal
from tests.support.terminal_runs import COMMAND, DELIVERED, assert_clean, run_in_terminal


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a pipeline that runs."""
    directory = tmp_path_factory.mktemp("run")
    prepare(directory)
    with run_in_terminal(directory) as terminal:
        terminal.wait_for(DELIVERED)
        wait_until(lambda: ask(directory / "pipeline", "status")["snapshot"]["dead_letters"]["new"] > 1)
        yield directory
        assert_clean(terminal)


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    "command",
    [
        "status",
        "graph",
        "plan",
        "top --times 1",
        "dlq list",
        "dlq count",
        "dlq review --dry-run",
        "checkpoints list",
        "rollback --list",
        "rollback --sink table --to newest --dry-run",
    ],
)
def test_no_line_of_a_command_is_wider_than_the_terminal(run: Path, command: str, columns: int) -> None:
    words = ["holdfast", *command.split()]
    with Terminal(words, directory=run, columns=400, environment=_columns(columns)) as terminal:
        assert terminal.end() in (0, 3, 5)
        assert_clean(terminal)
        too_wide = [line for line in terminal.text.splitlines() if len(line) > columns]
        assert not too_wide


def test_the_line_of_progress_stays_on_one_line_at_eighty_columns_and_tells_more_at_two_hundred(tmp_path: Path) -> None:
    with run_in_terminal(tmp_path, columns=80) as terminal:
        terminal.wait_for(DELIVERED)
        assert len([line for line in terminal.lines if line.startswith("orders running")]) == 1
        assert not any("archive" in line and "/s" in line for line in terminal.lines)
        terminal.resize(200, 24)
        terminal.wait_for(re.compile(r"orders running .* archive [\d,]+/s.*table [\d,]+/s"))
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        assert not any(line.startswith("orders running") for line in terminal.lines), "progress is left behind"


def test_top_draws_anew_after_the_window_was_resized(run: Path) -> None:
    with Terminal(["holdfast", "top", "--every", 0.2], directory=run, columns=200) as terminal:
        terminal.wait_for("latency p99")
        terminal.resize(80, 24)
        terminal.wait_for(lambda screen: len(screen.lines) > 4 and all(len(line) <= 80 for line in screen.lines))
        wait_until(lambda: terminal.lines[0].startswith("orders: running"))
        terminal.press(CTRL_C)
        assert terminal.end() == 0


@pytest.mark.parametrize(("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_terminals_and_nobody_gets_it_who_does_not_want_it(
    run: Path, environment: dict[str, str | None], colored: bool
) -> None:
    with Terminal(["holdfast", "status"], directory=run, environment=environment) as terminal:
        terminal.end()
        assert terminal.screen.has_color is colored


@pytest.mark.parametrize("columns", [50, 80])
def test_findings_of_a_killed_run_and_problems_of_a_document_fit_the_terminal(tmp_path: Path, columns: int) -> None:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "control.sock").touch()
    SqliteStore(tmp_path / "pipeline" / "checkpoints.db").close()
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT)
    (tmp_path / "bad.yaml").write_text(DOCUMENT.replace("generator", "generatr"))
    for command, code, said in ((["doctor"], 3, "socket-stale"), (["validate", "bad.yaml"], 1, "generatr")):
        environment = _columns(columns)
        with Terminal(["holdfast", *command], directory=tmp_path, columns=400, environment=environment) as terminal:
            assert terminal.end() == code
            assert said in terminal.text
            assert [line for line in terminal.text.splitlines() if len(line) > columns] == []


def test_a_dumb_terminal_gets_lines_and_no_control_characters(run: Path, tmp_path: Path) -> None:
    dumb: dict[str, str | None] = {"TERM": "dumb"}
    with Terminal(["holdfast", "top", "--times", 2, "--every", 0.1], directory=run, environment=dumb) as top:
        assert top.end() == 0
    with run_in_terminal(tmp_path, "--interval", 0.1, environment=dumb) as running:
        running.wait_for("orders running")
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["newest"] > 10)
        running.press(CTRL_C)
        assert running.end() == 0
    for terminal in (top, running):
        assert b"\x1b" not in terminal.raw
        assert b"\r" not in terminal.raw.replace(b"\r\n", b"")
    assert running.text.count("orders running") < 10
    assert top.text.count("orders: running") == 2


def test_a_message_is_broken_between_words_at_the_edge_of_the_terminal(run: Path) -> None:
    with Terminal([*COMMAND, "run"], directory=run, columns=60) as terminal:
        assert terminal.end() == 1
        said = terminal.text
    assert "HF-801" in said
    assert "`holdfast run --takeover end`, which ends that process first." in " ".join(said.split())
    assert all(len(line) <= 60 for line in said.splitlines())


def test_a_terminal_that_does_not_know_its_size_is_taken_for_a_usual_one(run: Path) -> None:
    with Terminal(["sh", "-c", "stty cols 0; exec holdfast doctor"], directory=run) as terminal:
        assert terminal.end() == 1
        assert_clean(terminal)
        assert "HF-801" in terminal.text


def test_top_shows_as_much_as_fits_and_says_what_does_not(run: Path) -> None:
    with Terminal(["holdfast", "top", "--every", 0.2], directory=run, columns=80, rows=8) as terminal:
        terminal.wait_for("more lines: `holdfast status` shows them")
        wait_until(lambda: terminal.lines[:1] != [] and terminal.lines[0].startswith("orders: running"))
        terminal.press(CTRL_C)
        assert terminal.end() == 0


def test_what_goes_into_a_file_has_neither_colour_nor_cursor(run: Path) -> None:
    with Terminal(
        ["sh", "-c", "holdfast status > status.txt 2>&1; holdfast graph | cat > graph.txt"], directory=run
    ) as t:
        assert t.end() == 0
    for name in ("status.txt", "graph.txt"):
        text = (run / name).read_text()
        assert "orders" in text
        assert not re.search(r"[\x1b\r]", text)


def test_progress_in_a_file_is_a_line_when_something_changes_and_not_one_a_second(tmp_path: Path) -> None:
    command = " ".join(["exec", *COMMAND, "run", "--interval", "0.1", "2>", "run.log"])
    with run_in_terminal(tmp_path, command=("sh", "-c", command)) as terminal:
        log = tmp_path / "run.log"
        wait_until(lambda: (tmp_path / "pipeline" / "control.sock").exists(), 60)
        pictures = ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["newest"]
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["newest"] > pictures + 20)
        terminal.press(CTRL_C)
        assert terminal.end() == 0
        lines = [line for line in log.read_text().splitlines() if line.startswith("orders running")]
        states = [line.split("|")[0] for line in lines]
        assert states
        assert all(one != other for one, other in pairwise(states)), lines


def test_whoever_reads_the_output_may_go_away(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(DOCUMENT)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.command_line", "run", "--interval", "0.1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert "runs in" in process.stderr.readline()
        process.stderr.close()
        wait_until(lambda: ask(tmp_path / "pipeline", "status")["snapshot"]["outbox"]["newest"] > 10)
        assert holdfast("drain", directory=tmp_path).code == 0
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def _columns(columns: int) -> dict[str, str | None]:
    """A width that is asked for: lines that are longer are seen whole on the wider terminal of the test."""
    return {"COLUMNS": str(columns)}
