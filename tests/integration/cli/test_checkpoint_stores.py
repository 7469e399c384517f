"""Commands over each checkpoint store that a document can name: looking, steering, and moving to another store."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.support.checkpoint_stores import fresh_schema
from tests.support.command_line import DOCUMENT, holdfast, running
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.local_pipelines import passed

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Ended
    from tests.support.servers import Servers

BLOCKS = {
    "sqlite": "{store: sqlite}",
    "file": "{store: file}",
    "postgres": '{store: postgres, dsn: "${CHECKPOINTS_DSN}"}',
}


@pytest.fixture(autouse=True)
def server(servers: Servers, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The variable that documents name, in the environment of the commands."""
    if "sqlite" not in request.node.name and "[file]" not in request.node.name:
        monkeypatch.setenv("CHECKPOINTS_DSN", fresh_schema(servers))


def document(store: str, events: int) -> str:
    text = DOCUMENT.replace("pace: {rate: 500}", f"events: {events}")
    return text.replace("  sinks:\n", f"  checkpoint: {BLOCKS[store]}\n  sinks:\n")


def run(directory: Path, text: str) -> None:
    with running(directory, "--until", "caught-up", text=text) as process:
        assert process.end()[0] == 0


def asked(directory: Path, *arguments: object, without: str | None = None) -> Ended:
    environment = {name: value for name, value in os.environ.items() if name != without}
    return holdfast(*arguments, "--output", "json", directory=directory, environment=environment)


@pytest.mark.parametrize("store", BLOCKS)
def test_commands_find_the_store_of_a_stopped_pipeline(tmp_path: Path, store: str) -> None:
    run(tmp_path, document(store, 220))
    for place in ("pipeline.yaml", "pipeline"):
        status = asked(tmp_path, "status", place).json["snapshot"]
        assert (status["state"], status["checkpoint"]["store"]) == ("stopped", store)
        assert status["outbox"]["committed"] == status["outbox"]["newest"] > 0
    assert {"cursors", "logs"} <= {each["key"] for each in asked(tmp_path, "checkpoints", "list", "pipeline").json}
    assert asked(tmp_path, "pause", "pipeline").code == 0
    assert "is paused" in asked(tmp_path, "status", "pipeline").json["snapshot"]["error"]
    assert asked(tmp_path, "resume", "pipeline").code == 0
    assert asked(tmp_path, "rollback", "pipeline.yaml", "--list").json["targets"]
    assert asked(tmp_path, "dlq", "list", "pipeline").code == 0
    found = asked(tmp_path, "doctor", "pipeline")
    assert (found.code, found.json["findings"]) == (0, [])
    assert asked(tmp_path, "validate", "--connect", "pipeline.yaml").json["problems"] == []


@pytest.mark.parametrize("store", ["file", "postgres"])
def test_a_rollback_goes_back_in_the_store_that_is_in_use(tmp_path: Path, store: str) -> None:
    run(tmp_path, document(store, 220))
    assert asked(tmp_path, "rollback", "pipeline.yaml", "--sink", "archive", "--to", "1", "--yes").code == 0
    lanes = {lane["name"]: lane["cursor"] for lane in asked(tmp_path, "status", "pipeline").json["snapshot"]["lanes"]}
    assert lanes["archive"] == 1 < lanes["table"]
    run(tmp_path, document(store, 440))
    assert file_numbers(tmp_path / "files") == table_numbers(tmp_path / "sink.db") == passed(440)


def test_checkpoints_move_from_store_to_store_and_no_row_is_lost_or_doubled(tmp_path: Path) -> None:
    stores = ["sqlite", "postgres", "file", "sqlite"]
    run(tmp_path, document(stores[0], 220))
    for number, store in enumerate(stores[1:], 2):
        text, file = document(store, number * 220), f"moved-{number}.jsonl"
        (tmp_path / "pipeline.yaml").write_text(text)
        refused = asked(tmp_path, "run", "--until", "caught-up", "pipeline.yaml")
        assert (refused.code, "HF-317" in refused.out + refused.err) == (1, True)
        assert asked(tmp_path, "checkpoints", "export", "pipeline", file).code == 0
        assert asked(tmp_path, "checkpoints", "import", "pipeline.yaml", file).code == 0
        run(tmp_path, text)
        assert table_numbers(tmp_path / "sink.db") == passed(number * 220)


def test_an_export_from_before_the_last_run_is_not_moved(tmp_path: Path) -> None:
    run(tmp_path, document("sqlite", 220))
    assert asked(tmp_path, "checkpoints", "export", "pipeline", "old.jsonl").code == 0
    run(tmp_path, document("sqlite", 440))
    (tmp_path / "pipeline.yaml").write_text(document("file", 660))
    refused = asked(tmp_path, "checkpoints", "import", "pipeline.yaml", "old.jsonl")
    assert refused.json["error"]["code"] == "HF-954"
    assert "before the last run" in refused.json["error"]["what"]
    assert not (tmp_path / "pipeline" / "checkpoints").exists()
    run(tmp_path, document("sqlite", 660))
    assert table_numbers(tmp_path / "sink.db") == passed(660)


def test_a_store_that_was_lost_is_restored_from_an_export(tmp_path: Path) -> None:
    run(tmp_path, document("sqlite", 220))
    assert asked(tmp_path, "checkpoints", "export", "pipeline", "backup.jsonl").code == 0
    run(tmp_path, document("sqlite", 440))
    for path in (tmp_path / "pipeline").glob("checkpoints.db*"):
        path.unlink()
    assert asked(tmp_path, "status", "pipeline").json["error"]["code"] == "HF-318"
    assert asked(tmp_path, "checkpoints", "import", "pipeline.yaml", "backup.jsonl").code == 0
    run(tmp_path, document("sqlite", 660))
    assert table_numbers(tmp_path / "sink.db") == passed(660), "the sink's own cursor is newer than the export"


def test_a_server_that_nobody_can_name_is_told_and_no_traceback(tmp_path: Path) -> None:
    run(tmp_path, document("postgres", 220))
    told = asked(tmp_path, "status", "pipeline", without="CHECKPOINTS_DSN")
    assert "`CHECKPOINTS_DSN` is not set" in told.json["error"]["what"]
    found = asked(tmp_path, "doctor", "pipeline", without="CHECKPOINTS_DSN")
    assert found.json["findings"][0]["code"] == "store-unreachable"


def test_a_change_of_the_store_is_told_by_plan(tmp_path: Path) -> None:
    run(tmp_path, document("sqlite", 220))
    (tmp_path / "pipeline.yaml").write_text(document("file", 220))
    told = holdfast("plan", "pipeline.yaml", directory=tmp_path)
    assert "checkpoint.store: sqlite -> file" in told.out
    assert "holdfast checkpoints export" in told.out
