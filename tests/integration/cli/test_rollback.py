"""`holdfast rollback`: the guide's commands, in the guide's order, do what the guide says."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from tests.support.command_line import ROOT
from tests.support.crash.orders import orders
from tests.support.pages import commands

from holdfast.cli.commands import holdfast
from holdfast.config import load
from holdfast.runtime.engine import Engine
from holdfast.testing import LocalProcessor

GUIDE = ROOT / "docs" / "guides" / "roll-back.md"
DOCUMENT = """\
apiVersion: holdfast/v1
kind: Pipeline
metadata: {name: orders}
spec:
  directory: pipeline
  source: {type: generator, name: orders, events: 300, transactions: [3, 7, 1]}
  batch: {max_events: 40, max_ms: 20}
  sinks:
    - {name: archive, type: files, directory: files}
    - {name: table, type: sqlite, path: sink.db, table: orders}
"""
PASSED = [n for n in range(1, 301) if n % 10]


def arguments_of_the_guide() -> list[list[str]]:
    """What follows `holdfast` in the commands of the guide, in order."""
    return [shlex.split(line)[1:] for line in commands(GUIDE.read_text())]


@pytest.fixture
def delivered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory with a document whose pipeline has delivered everything and is drained."""
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(DOCUMENT)
    deliver_all()


def deliver_all() -> None:
    """Run until both sinks have everything, and drain."""
    with started() as engine:
        engine.drain(30)


@contextmanager
def started() -> Iterator[Engine]:
    """The pipeline of the document, caught up."""
    engine = Engine(load(Path("pipeline.yaml")).plan(), lambda: LocalProcessor(orders))
    engine.start()
    try:
        assert engine.wait(caught_up=True, timeout=60)
        yield engine
    finally:
        engine.stop()


def numbers() -> list[int]:
    return [n for path in sorted(Path("files").glob("*.parquet")) for n in pq.read_table(path)["n"].to_pylist()]


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(holdfast, arguments)


def said(arguments: list[str]) -> Any:
    ended = asked(*arguments, "--output", "json")
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


@pytest.mark.usefixtures("delivered")
def test_the_commands_of_the_guide() -> None:
    drain, of_sink, of_pipeline, dry_sink, dry_pipeline, sink_back, pipeline_back, undo = arguments_of_the_guide()
    assert drain == ["drain", "pipeline.yaml"]
    assert len(said(of_sink)["targets"]) > 3
    assert len(said(of_pipeline)["targets"]) > 3
    (archive,) = said(dry_sink)["preview"]["sinks"]
    assert (archive["sink"]["effect"], archive["rows"]) == ("ends equal", len(PASSED))
    told = said(dry_pipeline)["preview"]
    assert {each["sink"]["name"]: each["sink"]["effect"] for each in told["sinks"]} == {
        "archive": "ends equal",
        "table": "repeats rows",
    }
    assert "No schema versions are restored" in told["notes"][0]
    assert numbers() == PASSED, "nothing was touched"

    assert said(sink_back)["rollback"]["outcome"] == "done"
    assert numbers() == []
    deliver_all()
    assert numbers() == PASSED

    assert said(pipeline_back)["rollback"]["generation"] == 2
    assert len(numbers()) < len(PASSED)
    assert said(undo)["rollback"]["undoes"] == 2
    deliver_all()
    assert numbers() == PASSED
    done = said(of_pipeline)["rollbacks"]
    assert [(each["number"], each["sink"], each["outcome"]) for each in done] == [
        (1, "archive", "done"),
        (2, None, "done"),
        (3, None, "done"),
    ]


@pytest.mark.usefixtures("delivered")
def test_the_preview_comes_first_and_nothing_is_done_without_a_yes() -> None:
    ended = asked("rollback", "--to", "oldest")
    assert ended.exit_code == 1
    assert "ends equal" in ended.stderr
    assert "repeats rows" in ended.stderr
    assert "add --yes" in ended.stdout
    assert numbers() == PASSED
    listed = asked("rollback", "--list").stdout
    assert "spark/1" in listed


@pytest.mark.usefixtures("delivered")
def test_a_running_pipeline_is_refused_with_what_to_do() -> None:
    with started():
        refused = asked("rollback", "--to", "oldest", "--yes", "--output", "json")
        assert refused.exit_code == 1
        assert "holdfast drain" in json.loads(refused.stdout)["error"]["remedy"]


@pytest.mark.parametrize("options", [[], ["--list", "--undo"], ["--to", "1", "--list"]])
def test_one_thing_at_a_time(options: list[str]) -> None:
    assert asked("rollback", *options).exit_code == 2
