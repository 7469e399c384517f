"""The doctor on the command line: what it says, what it does when told to, and how it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.command_line import DOCUMENT, holdfast, running
from tests.support.crash.reconcile import file_numbers, table_numbers
from tests.support.local_pipelines import passed

from holdfast.checkpoint import CURSORS, SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

FINITE = DOCUMENT.replace("pace: {rate: 500}", "events: 220")


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    with running(tmp_path, "--until", "caught-up", text=FINITE) as run:
        assert run.end()[0] == 0
    return tmp_path


def test_it_names_a_repair_makes_it_only_when_told_and_says_when_all_is_well(stopped: Path) -> None:
    sound = holdfast("doctor", "pipeline", "--output", "json", directory=stopped)
    assert (sound.code, sound.json["healthy"], sound.json["findings"]) == (0, True, [])
    with SqliteStore(stopped / "pipeline" / "checkpoints.db") as store:
        store.put_raw(CURSORS.name, b"not cursors", epoch=store.take_over())
    named = holdfast("doctor", "pipeline.yaml", "--output", "json", directory=stopped)
    (finding,) = named.json["findings"]
    assert (named.code, finding["code"], finding["severity"]) == (3, "cursors-unreadable", "breaks the start")
    assert all(finding[key] for key in ("what", "place", "kept", "remedy", "repair"))
    assert named.json["actions"][0].startswith("would do: ")
    mended = holdfast("doctor", "pipeline", "--repair", "--output", "json", directory=stopped)
    assert (mended.code, mended.json["healthy"]) == (0, True)
    assert mended.json["actions"][0].startswith("done: ")


def test_a_killed_pipeline_leaves_only_what_is_repaired_and_goes_on_exactly(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        run.process.kill()
        run.process.wait()
    left = holdfast("doctor", "pipeline", "--output", "json", directory=tmp_path)
    assert {finding["severity"] for finding in left.json["findings"]} <= {"leftover", "loses nothing"}
    assert "socket-stale" in {finding["code"] for finding in left.json["findings"]}
    told = holdfast("doctor", "pipeline", directory=tmp_path)
    assert "socket-stale: leftover" in told.out
    assert holdfast("doctor", "pipeline", "--repair", directory=tmp_path).code == 0
    text = FINITE.replace("events: 220", "events: 2200")
    with running(tmp_path, "--until", "caught-up", text=text) as run:
        assert run.end()[0] == 0
    assert table_numbers(tmp_path / "sink.db") == file_numbers(tmp_path / "files") == passed(2200)


def test_a_running_pipeline_is_not_looked_at(tmp_path: Path) -> None:
    with running(tmp_path):
        refused = holdfast("doctor", "pipeline", "--output", "json", directory=tmp_path)
        assert (refused.code, refused.json["error"]["code"]) == (1, "HF-801")
