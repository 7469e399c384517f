"""What a pipeline remembers, on the command line: read beside a process, written only when none runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT, holdfast, running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command_line import Ended

FINITE = DOCUMENT.replace("pace: {rate: 500}", "events: 220")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    with running(tmp_path, "--until", "caught-up", text=FINITE) as run:
        assert run.end()[0] == 0
    return tmp_path


def checkpoints(directory: Path, *arguments: object) -> Ended:
    return holdfast("checkpoints", *arguments, "--output", "json", directory=directory)


def test_keys_and_versions_are_listed_shown_and_compared(stopped: Path) -> None:
    listed = {each["key"]: each for each in checkpoints(stopped, "list", "pipeline").json}
    assert {"cursors", "history", "logs"} <= set(listed)
    versions = checkpoints(stopped, "list", "pipeline", "--key", "cursors").json
    first, last = versions[0]["version"], versions[-1]["version"]
    shown = checkpoints(stopped, "show", "pipeline", "cursors").json
    assert (shown["version"], set(shown["content"]["delivered"])) == (last, {"archive", "table"})
    paths = {change["path"] for change in checkpoints(stopped, "diff", "pipeline", "cursors", first, last).json}
    assert "committed" in paths
    assert checkpoints(stopped, "show", "pipeline", "nothing").json["error"]["code"] == "HF-308"


def test_versions_are_pruned_and_keys_deleted_only_when_asked_twice(stopped: Path) -> None:
    pruned = checkpoints(stopped, "prune", "pipeline", "cursors", "--keep", 2)
    assert pruned.json["pruned"] > 0
    assert len(checkpoints(stopped, "list", "pipeline", "--key", "cursors").json) == 2
    asked = checkpoints(stopped, "delete", "pipeline", "history")
    assert (asked.code, asked.json["deleted"]) == (1, False)
    assert checkpoints(stopped, "delete", "pipeline", "history", "--yes").json["deleted"]
    assert "history" not in {each["key"] for each in checkpoints(stopped, "list", "pipeline").json}


def test_an_export_is_imported_as_the_newest_versions_and_a_damaged_one_is_refused(stopped: Path) -> None:
    before = checkpoints(stopped, "show", "pipeline", "cursors").json
    assert checkpoints(stopped, "export", "pipeline", "backup.jsonl").json["keys"] >= 3
    assert checkpoints(stopped, "export", "pipeline", "backup.jsonl").code == 1, "a file is never replaced"
    assert checkpoints(stopped, "import", "pipeline", "backup.jsonl").code == 0
    after = checkpoints(stopped, "show", "pipeline", "cursors").json
    assert (after["content"], after["version"]) == (before["content"], before["version"] + 1)
    damaged = stopped / "damaged.jsonl"
    damaged.write_text((stopped / "backup.jsonl").read_text().replace('"crc32c": ', '"crc32c": 1', 1))
    assert checkpoints(stopped, "import", "pipeline", "damaged.jsonl").json["error"]["code"] == "HF-954"
    damaged.write_text("[" * 100_000)
    assert checkpoints(stopped, "import", "pipeline", "damaged.jsonl").json["error"]["code"] == "HF-954"


def test_a_running_pipeline_is_read_and_not_written_to(tmp_path: Path) -> None:
    with running(tmp_path):
        assert checkpoints(tmp_path, "list", "pipeline").code == 0
        refused = checkpoints(tmp_path, "prune", "pipeline", "cursors", "--keep", 1)
        assert refused.json["error"]["code"] == "HF-801"
